#include "tests/harness/thread_ranks.h"

#include <omp.h>

#include <condition_variable>
#include <cstring>
#include <deque>
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
  std::map<std::tuple<int, int, int>, std::deque<Bytes>> messages;  // from, to, tag
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
      const Bytes bytes = get(r, kTag);
      out.emplace_back(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    }
    return out;
  }

  int exchange(int tag, std::span<const Piece> sends, std::span<const Piece> receives) override {
    for (const Piece& p : sends) put(p.peer, tag, p.data, size_t(p.bytes));
    open_[++tickets_] = {tag, {receives.begin(), receives.end()}};
    return tickets_;
  }

  void wait(int ticket) override {
    const auto [tag, pieces] = open_.extract(ticket).mapped();
    for (const Piece& p : pieces) {
      const Bytes bytes = get(p.peer, tag);
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
    shared_.messages[{rank(), to, tag}].emplace_back(bytes, bytes + n);
    shared_.changed.notify_all();
  }
  Bytes get(int from, int tag) {
    std::unique_lock lock(shared_.mutex);
    auto& queue = shared_.messages[{from, rank(), tag}];
    shared_.changed.wait(lock, [&] { return !queue.empty() || shared_.error; });
    check(!queue.empty(), "another rank has failed");
    Bytes out = std::move(queue.front());
    queue.pop_front();
    return out;
  }

  Shared& shared_;
  Place place_;
  std::map<int, std::pair<int, std::vector<Piece>>> open_;
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
