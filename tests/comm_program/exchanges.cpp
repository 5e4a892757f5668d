#include "exchanges.h"

#include <algorithm>
#include <chrono>
#include <random>

#include "base/check.h"

namespace megalith::test {
namespace {

using Bytes = std::vector<u8>;

// What `from` sends `to` as its k-th piece: all ranks can tell.
Bytes content(int from, int to, int k, i64 bytes) {
  Bytes b(static_cast<size_t>(bytes));
  u32 state = u32(from) * 7919u + u32(to) * 104729u + u32(k) * 1299709u + 1;
  for (u8& x : b) {
    state = state * 1664525u + 1013904223u;
    x = u8(state >> 24);
  }
  return b;
}

struct Buffers {
  std::vector<Bytes> sent, received, expected;
  std::vector<Piece> sends, receives;

  void send(int to, Bytes bytes) {
    sent.push_back(std::move(bytes));
    sends.push_back({to, sent.back().data(), i64(sent.back().size())});
  }
  void receive(int from, Bytes bytes) {
    received.emplace_back(bytes.size());
    receives.push_back({from, received.back().data(), i64(bytes.size())});
    expected.push_back(std::move(bytes));
  }
};

}  // namespace

void exchange_randomly(Ranks& ranks) {
  constexpr int kTags = 24;
  const int n = ranks.size(), me = ranks.rank();
  std::mt19937 random(7);  // the same on all ranks
  std::vector<Buffers> all(kTags);
  std::vector<int> tickets;
  for (int tag = 0; tag < kTags; ++tag) {
    for (int from = 0; from < n; ++from) {
      for (int to = 0; to < n; ++to) {
        const int pieces = int(random() % 3);
        for (int k = 0; k < pieces; ++k) {
          const i64 bytes = random() % 4 == 0 ? 0 : i64(random() % (random() % 5 == 0 ? 300000 : 3000));
          if (from == me) all[tag].send(to, content(from, to, tag * 8 + k, bytes));
          if (to == me) all[tag].receive(from, content(from, to, tag * 8 + k, bytes));
        }
      }
    }
  }
  // Started in another order on each rank: tags tell exchanges apart.
  std::vector<int> order(kTags);
  for (int tag = 0; tag < kTags; ++tag) order[tag] = tag;
  std::mt19937 mine{u32(me)};
  std::shuffle(order.begin(), order.end(), mine);
  for (const int tag : order) tickets.push_back(ranks.exchange(tag * 1000, all[tag].sends, all[tag].receives));
  std::shuffle(tickets.begin(), tickets.end(), mine);
  for (const int ticket : tickets) ranks.wait(ticket);
  for (const Buffers& b : all) check(b.received == b.expected, "rank {}: wrong bytes", me);
}

void exchange_large(Ranks& ranks, i64 bytes) {
  const int n = ranks.size(), me = ranks.rank(), next = (me + 1) % n, previous = (me + n - 1) % n;
  Buffers b;
  b.send(next, content(me, next, 0, bytes));
  b.send(me, content(me, me, 0, bytes));
  b.receive(previous, content(previous, me, 0, bytes));
  b.receive(me, content(me, me, 0, bytes));
  ranks.wait(ranks.exchange(1, b.sends, b.receives));
  check(b.received == b.expected, "rank {}: wrong bytes", me);
}

void exchange_ordered(Ranks& ranks) {
  const int n = ranks.size(), me = ranks.rank();
  std::vector<Buffers> all(20);
  std::vector<int> tickets;
  for (int k = 0; k < int(all.size()); ++k) {
    for (int peer = 0; peer < n; ++peer) {
      all[k].send(peer, content(me, peer, k, 1000 + 5000 * (k % 7)));
      all[k].receive(peer, content(peer, me, k, 1000 + 5000 * (k % 7)));
    }
    tickets.push_back(ranks.exchange(5, all[k].sends, all[k].receives));
  }
  for (const int ticket : tickets) ranks.wait(ticket);
  for (const Buffers& b : all) check(b.received == b.expected, "rank {}: wrong bytes", me);
}

void exchange_wrong_sizes(Ranks& ranks, i64 sent) {
  Buffers b;
  if (ranks.rank() == 0) b.send(1, Bytes(size_t(sent)));
  if (ranks.rank() == 1) b.receive(0, Bytes(100));
  ranks.wait(ranks.exchange(1, b.sends, b.receives));
}

void time_exchanges(Ranks& ranks, i64 bytes) {
  const int n = ranks.size(), me = ranks.rank();
  Buffers b;
  for (int peer = 0; peer < n; ++peer) {
    b.send(peer, content(me, peer, 0, bytes / n));
    b.receive(peer, content(peer, me, 0, bytes / n));
  }
  const int times = int(std::clamp<i64>((i64{1} << 28) / std::max<i64>(bytes, 1), 3, 2000));
  ranks.barrier();
  const auto start = std::chrono::steady_clock::now();
  for (int k = 0; k < times; ++k) ranks.wait(ranks.exchange(1, b.sends, b.receives));
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count() / times;
  if (me == 0)
    fmt::print("{} ranks, {} bytes to all: {:.1f} us, {:.3f} GB/s\n", n, bytes, seconds * 1e6,
               double(bytes) / seconds / 1e9);
}

static std::string text_of(int rank, int round) {
  return std::string(size_t(round == 9 ? 3000000 + rank : rank * round * round), char('a' + (rank + round) % 26));
}

static void check_texts(const Ranks& ranks, const std::vector<std::string>& texts, int round) {
  check(int(texts.size()) == ranks.size(), "{} texts", texts.size());
  for (int r = 0; r < ranks.size(); ++r)
    check(texts[size_t(r)] == text_of(r, round), "rank {}: wrong text of {}", ranks.rank(), r);
}

void gather_texts_often(Ranks& ranks) {
  for (int round = 0; round < 12; ++round) check_texts(ranks, ranks.all_gather(text_of(ranks.rank(), round)), round);
}

void gather_at_first_often(Ranks& ranks) {
  for (int round = 0; round < 12; ++round) {
    const std::vector<std::string> texts = ranks.gather(text_of(ranks.rank(), round));
    if (ranks.rank() == 0) check_texts(ranks, texts, round);
    check(ranks.rank() == 0 || texts.empty(), "rank {} has {} texts", ranks.rank(), texts.size());
    if (round % 3 == 0) check_texts(ranks, ranks.all_gather(text_of(ranks.rank(), round + 1)), round + 1);
  }
}

}  // namespace megalith::test
