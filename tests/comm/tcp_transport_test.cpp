// Ranks that only know RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT.
#include <gtest/gtest.h>
#include <sys/socket.h>

#include <atomic>
#include <thread>

#include "comm/socket.h"
#include "launch.h"

namespace megalith::test {
namespace {

void expect_done(const Ran& ran) {
  EXPECT_TRUE(ran.ok()) << ran.err;
  EXPECT_EQ(ran.err, "");
  EXPECT_NE(ran.out.find(" done by "), std::string::npos) << ran.out;
}

void expect_errors(const Ran& ran, size_t count, const char* words) {
  EXPECT_EQ(ran.lines(words).size(), count) << ran.err;
}

TEST(TcpTransport, GathersTexts) {
  expect_done(run_by_environment({.size = 8, .words = {"gather"}}));
  expect_done(run_by_environment({.size = 1, .words = {"gather"}}));
}

TEST(TcpTransport, GathersTextsAtTheFirst) {
  expect_done(run_by_environment({.size = 8, .words = {"gather-at-first"}}));
}

TEST(TcpTransport, CountsTheRanksOfThisHostUnlessTheLauncherDoes) {
  const auto silent = [](int rank) {
    return Variables{{"LOCAL_WORLD_SIZE", ""}, {"LOCAL_RANK", std::to_string(rank)}};
  };
  expect_done(run_by_environment({.size = 3, .words = {"neighbours", "3"}}, {}, silent));
  const auto told = [](int) { return Variables{{"LOCAL_WORLD_SIZE", "2"}, {"LOCAL_RANK", "1"}}; };
  expect_done(run_by_environment({.size = 3, .words = {"neighbours", "2"}}, {}, told));
}

TEST(TcpTransport, UnderTorchrunTakesThePortAfterItsStore) {
  Listener store = listen_at("127.0.0.1", 0);
  for (bool next_is_free = false; !next_is_free;) {  // other tests take ports too
    try {
      listen_at("127.0.0.1", store.port + 1);
      next_is_free = true;
    } catch (const std::exception&) {
      store = listen_at("127.0.0.1", 0);
    }
  }
  expect_done(run_by_environment({.size = 3, .words = {"gather"}}, {}, [&](int) {
    return Variables{{"TORCHELASTIC_RUN_ID", "job"}, {"MASTER_PORT", std::to_string(store.port)}};
  }));
}

TEST(TcpTransport, OnAllInterfaces) {
  const std::vector<std::string> own = own_addresses();
  if (own.empty()) GTEST_SKIP() << "this host has no address but loopback";
  for (const std::string& address : own)
    expect_done(run_by_environment({.size = 3, .words = {"gather"}}, {}, [&](int) {
      return Variables{{"MASTER_ADDR", address}};
    }));
}

TEST(TcpTransport, NamesTheRanksThatDoNotCome) {
  const Variables soon = {{"COMM_TIMEOUT", "1"}};
  const auto of_rank = [](int rank) { return rank == 2 ? Variables{{"WORLD_SIZE", "1"}, {"RANK", "0"}} : Variables{}; };
  const Ran ran = run_by_environment({.size = 4, .words = {"gather"}, .variables = soon}, {}, of_rank);
  expect_errors(ran, 1, "rank 2 did not come to localhost port");
}

TEST(TcpTransport, RefusesAnotherRunAndTheSameRankTwice) {
  const Variables soon = {{"COMM_TIMEOUT", "2"}};
  const auto wrong_size = [](int rank) { return rank == 2 ? Variables{{"WORLD_SIZE", "5"}} : Variables{}; };
  const Ran ran = run_by_environment({.size = 3, .words = {"gather"}, .variables = soon}, {}, wrong_size);
  expect_errors(ran, 1, "refused rank 2: rank 0 belongs to a run of 3 ranks");
  const auto twice = [](int rank) { return rank == 2 ? Variables{{"RANK", "1"}} : Variables{}; };
  const Ran again = run_by_environment({.size = 3, .words = {"gather"}, .variables = soon}, {}, twice);
  expect_errors(again, 1, "refused rank 1: another process is RANK=1 already");
}

TEST(TcpTransport, SaysThatItsPortIsTaken) {
  const Listener other = listen_at("127.0.0.1", 0);
  const Ran ran =
      run_by_environment({.size = 2, .words = {"gather"}, .variables = {{"COMM_TIMEOUT", "1"}}}, {}, [&](int) {
        return Variables{{"MASTER_ADDR", "127.0.0.1"}, {"MASTER_PORT", std::to_string(other.port)}};
      });
  EXPECT_TRUE(ran.all_failed());
  expect_errors(ran, 1, "set MASTER_PORT to a free port");
  expect_errors(ran, 1, "rank 1 could not reach rank 0");
}

// Whoever else finds the port does no harm.
TEST(TcpTransport, StrangersAreIgnored) {
  const int port = free_port();
  std::atomic<bool> stop = false;
  std::thread stranger([&] {
    for (int k = 0; !stop; ++k) {
      std::string why;
      const Socket s = connect_to("127.0.0.1", port, 1, why);
      const std::string junk(k % 3 == 0 ? 0 : 3000, char(k));
      if (s) send(s.fd(), junk.data(), junk.size(), MSG_NOSIGNAL);
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
  });
  const auto of_rank = [&](int) { return Variables{{"MASTER_PORT", std::to_string(port)}}; };
  const Ran ran = run_by_environment({.size = 4, .words = {"gather"}}, {}, of_rank);
  stop = true;
  stranger.join();
  expect_done(ran);
}

}  // namespace
}  // namespace megalith::test
