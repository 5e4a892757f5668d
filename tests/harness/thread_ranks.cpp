#include "tests/harness/thread_ranks.h"

#include <omp.h>

#include <condition_variable>
#include <cstring>
#include <exception>
#include <map>
#include <mutex>
#include <thread>
#include <tuple>

#include "base/check.h"

namespace megalith::harness {

namespace {

using Bytes = std::vector<std::byte>;

struct Shared {
  std::mutex mutex;
  std::condition_variable changed;
  std::map<std::tuple<int, int, int, int>, Bytes> messages;  // from, to, tag, number
  std::exception_ptr error;
};

class ThreadRanks final : public Ranks {
 public:
  ThreadRanks(Shared& shared, int rank, int size) : shared_(shared) {
    place_.rank = place_.local_rank = rank, place_.size = place_.local_size = size;
  }
  const Place& place() const override { return place_; }

  std::vector<std::string> all_gather(const std::string& mine) override {
    constexpr int kTag = -1;
    for (int r = 0; r < size(); ++r) put(r, kTag, mine.data(), mine.size());
    std::vector<std::string> out;
    for (int r = 0; r < size(); ++r) {
      const Bytes bytes = get(r, kTag, received_[{r, kTag}]++);
      out.emplace_back(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    }
    return out;
  }

  std::vector<std::string> gather(const std::string& mine) override {
    constexpr int kTag = -2;
    put(0, kTag, mine.data(), mine.size());
    std::vector<std::string> out;
    for (int r = 0; rank() == 0 && r < size(); ++r) {
      const Bytes bytes = get(r, kTag, received_[{r, kTag}]++);
      out.emplace_back(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    }
    return out;
  }

  int exchange(int tag, std::span<const Piece> sends, std::span<const Piece> receives) override {
    // A message may arrive before this rank's sends have left, so buffers must not overlap: a test would see this fill.
    for (const Piece& p : receives)
      if (p.peer != rank()) std::memset(p.data, 0xa5, size_t(p.bytes));
    for (const Piece& p : sends) put(p.peer, tag, p.data, size_t(p.bytes));
    auto& open = open_[++tickets_];
    for (const Piece& p : receives) open.push_back({p, tag, received_[{p.peer, tag}]++});
    return tickets_;
  }

  void wait(int ticket) override {
    const std::vector<Expected> expected = open_.extract(ticket).mapped();
    for (const auto& [p, tag, number] : expected) {
      const Bytes bytes = get(p.peer, tag, number);
      check(i64(bytes.size()) == p.bytes, "rank {} sends {} bytes, rank {} expects {}", p.peer, bytes.size(), rank(),
            p.bytes);
      std::memcpy(p.data, bytes.data(), bytes.size());
    }
  }
  void doing(const std::string*) override {}

 private:
  void put(int to, int tag, const void* data, size_t n) {
    const auto* bytes = static_cast<const std::byte*>(data);
    std::lock_guard lock(shared_.mutex);
    shared_.messages[{rank(), to, tag, sent_[{to, tag}]++}] = Bytes(bytes, bytes + n);
    shared_.changed.notify_all();
  }
  Bytes get(int from, int tag, int number) {
    std::unique_lock lock(shared_.mutex);
    const std::tuple key{from, rank(), tag, number};
    shared_.changed.wait(lock, [&] { return shared_.messages.contains(key) || shared_.error; });
    check(shared_.messages.contains(key), "another rank has failed");
    return std::move(shared_.messages.extract(key).mapped());
  }

  Shared& shared_;
  Place place_;
  // Messages between two ranks with the same tag are numbered in the order of exchange() on both sides.
  struct Expected {
    Piece piece;
    int tag, number;
  };
  std::map<int, std::vector<Expected>> open_;           // by ticket
  std::map<std::pair<int, int>, int> sent_, received_;  // by the other rank and tag
  int tickets_ = 0;
};

}  // namespace

void run_ranks(int n, const std::function<void(Ranks&)>& f) {
  Shared shared;
  std::vector<std::thread> threads;
  for (int r = 0; r < n; ++r)
    threads.emplace_back([&, r] {
      omp_set_num_threads(1);
      try {
        ThreadRanks ranks(shared, r, n);
        f(ranks);
      } catch (...) {
        std::lock_guard lock(shared.mutex);
        if (!shared.error) shared.error = std::current_exception();
        shared.changed.notify_all();
      }
    });
  for (std::thread& t : threads) t.join();
  if (shared.error) std::rethrow_exception(shared.error);
}

}  // namespace megalith::harness
