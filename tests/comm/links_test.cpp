// Pieces between ranks that only know RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT.
#include <gtest/gtest.h>
#include <sys/socket.h>

#include <atomic>
#include <thread>

#include "comm/socket.h"
#include "launch.h"

namespace megalith::test {
namespace {

void expect_done(const RunOf& run, const std::function<Variables(int rank)>& of_rank = {}) {
  const Ran ran = run_by_environment(run, {}, of_rank);
  EXPECT_TRUE(ran.ok()) << ran.err;
  EXPECT_EQ(ran.err, "");
  EXPECT_EQ(ran.out, run.words[0] + " done by " + std::to_string(run.size) + " ranks\n");
}

// Once as ranks of one host do, once as those of different hosts.
void expect_done_both_ways(RunOf run) {
  expect_done(run);
  run.variables["COMM_FAR"] = "1";
  expect_done(run);
}

TEST(Links, ExchangeRandomPiecesOnManyTags) { expect_done_both_ways({.words = {"random"}}); }
TEST(Links, ExchangeRandomPiecesInChunks) {
  expect_done_both_ways({.size = 4, .words = {"random"}, .variables = {{"COMM_CHUNK", "1000"}}});
}
TEST(Links, KeepTheOrderOfATag) {
  expect_done_both_ways({.words = {"ordered"}});
  expect_done_both_ways({.size = 3, .words = {"ordered"}, .variables = {{"COMM_CHUNK", "4096"}}});
}
TEST(Links, SendLargePiecesInChunks) {
  for (const char* bytes : {"0", "65536", "65537", "10000019"})
    expect_done_both_ways({.size = 4, .words = {"large", bytes}, .variables = {{"COMM_CHUNK", "4096"}}});
}
TEST(Links, OnAllInterfaces) {
  const std::vector<std::string> own = own_addresses();
  if (own.empty()) GTEST_SKIP() << "this host has no address but loopback";
  expect_done({.size = 3, .words = {"random"}, .variables = {{"COMM_FAR", "1"}}}, [&](int) {
    return Variables{{"MASTER_ADDR", own[0]}};
  });
}

void expect_error(const RunOf& run, std::vector<const char*> words) {
  const Ran ran = run_by_environment(run);
  EXPECT_TRUE(ran.all_failed());
  const std::vector<std::string> lines = ran.lines("megalith:");
  ASSERT_EQ(lines.size(), 1u) << ran.err;
  for (const char* word : words) EXPECT_NE(lines[0].find(word), std::string::npos) << lines[0] << "\nlacks " << word;
}

TEST(Links, TimeoutsNameTheMissingRanks) {
  expect_error({.size = 6, .words = {"not-send"}, .variables = {{"COMM_TIMEOUT", "1"}}},
               {"waited 1 s for ranks 1, 3 and 5", "all_gather over tp_kv tp_rep, layer 3 attention"});
}

TEST(Links, SizesMustAgree) {
  for (const char* sent : {"50", "150", "1000000"})
    expect_error({.size = 2, .words = {"wrong-sizes", sent}},
                 {"rank 1", ("rank 0 sent " + std::string(sent) + " bytes instead of 100").c_str()});
}

}  // namespace
}  // namespace megalith::test
