// A rank in the tests of tests/comm: comm-program MODE [number].
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <cstring>
#include <map>
#include <thread>

#include "base/check.h"
#include "comm/join.h"
#include "exchanges.h"

namespace megalith::test {
namespace {

void sleep_seconds(double s) { std::this_thread::sleep_for(std::chrono::duration<double>(s)); }

// Ranks of the odd number are late for what the others wait for.
void be_late(Ranks& ranks) {
  const std::string what = "the loss's sum over dp";
  ranks.doing(&what);
  if (ranks.rank() % 2 == 1) sleep_seconds(60);
  ranks.barrier();
}
void not_send(Ranks& ranks) {
  const std::string what = "all_gather over tp_kv tp_rep, layer 3 attention";
  ranks.doing(&what);
  if (ranks.rank() % 2 == 1) sleep_seconds(60);
  std::vector<char> bytes(size_t(ranks.size()));
  std::vector<Piece> receives;
  for (int r = 0; r < ranks.size(); ++r)
    if (r % 2 == 1) receives.push_back({r, &bytes[size_t(r)], 1});
  ranks.wait(ranks.exchange(1, {}, receives));
}

// Until it is ended.
void go_on(Ranks& ranks) {
  const std::string what = "all_gather over tp_kv tp_rep, layer 3 attention";
  ranks.doing(&what);
  sleep_seconds(0.7);  // for a beat with these words
  fmt::print("rank {} pid {} ready\n", ranks.rank(), getpid());
  std::fflush(stdout);
  while (true) ranks.barrier();
}

// As go_on(). SIGQUIT makes a thread sleep, as if it got no core.
void sleep_long(int) { sleep(60); }
void go_on_drowsily(Ranks& ranks) {
  std::signal(SIGQUIT, sleep_long);
  go_on(ranks);
}

// Rank `number` throws; the others wait for it.
void throw_one(Ranks& ranks, i64 number) {
  const std::string what = "loading layer 7";
  ranks.doing(&what);
  ranks.barrier();
  check(ranks.rank() != number, "shard 5 has a wrong checksum");
  ranks.barrier();
}

using Mode = void (*)(Ranks&, i64 number);
const std::map<std::string, Mode> kModes = {
    {"gather", [](Ranks& r, i64) { gather_texts_often(r); }},
    {"gather-at-first", [](Ranks& r, i64) { gather_at_first_often(r); }},
    {"neighbours",
     [](Ranks& r, i64 number) {
       check(r.place().local_size == number, "rank {} counts {} on this host", r.rank(), r.place().local_size);
     }},
    {"random", [](Ranks& r, i64) { exchange_randomly(r); }},
    {"large", exchange_large},
    {"ordered", [](Ranks& r, i64) { exchange_ordered(r); }},
    {"wrong-sizes", exchange_wrong_sizes},
    {"time", time_exchanges},
    {"go-on", [](Ranks& r, i64) { go_on(r); }},
    {"go-on-drowsily", [](Ranks& r, i64) { go_on_drowsily(r); }},
    {"throw", throw_one},
    {"throw-all", [](Ranks&, i64) { fail("--lr -1 is negative"); }},
    {"leave",
     [](Ranks& r, i64 number) {
       if (r.rank() == number) _exit(0);
       r.barrier();
     }},
    {"late", [](Ranks& r, i64) { be_late(r); }},
    {"not-send", [](Ranks& r, i64) { not_send(r); }},
};

int run(const std::string& mode, i64 number) {
  const Place place = find_place(std::getenv);
  JoinOptions options;
  if (const char* seconds = std::getenv("COMM_TIMEOUT")) options.timeout_seconds = std::atof(seconds);
  LinkWays ways;
  if (const char* chunk = std::getenv("COMM_CHUNK")) ways.chunk_bytes = std::atoll(chunk);
  if (std::getenv("COMM_FAR")) ways.reads_near = false;
  const std::unique_ptr<Ranks> ranks = join_by(place, options, ways);
  try {
    kModes.at(mode)(*ranks, number);
  } catch (const Error& e) {
    if (ranks->failed(e.what())) return 1;
    throw;
  }
  if (ranks->rank() == 0) fmt::print("{} done by {} ranks\n", mode, ranks->size());
  return 0;
}

}  // namespace
}  // namespace megalith::test

int main(int argc, char** argv) {
  try {
    return megalith::test::run(argc > 1 ? argv[1] : "", argc > 2 ? std::atoll(argv[2]) : 0);
  } catch (const std::exception& e) {
    fmt::print(stderr, "comm-program: {}\n", e.what());
    return 1;
  }
}
