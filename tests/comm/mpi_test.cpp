// Ranks under mpirun.
#include <gtest/gtest.h>

#include "launch.h"

namespace megalith::test {
namespace {

class Mpi : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!has_mpirun()) GTEST_SKIP() << "there is no mpirun here";
  }
};

void expect_mpi_done(const RunOf& run) {
  const Ran ran = run_by_mpirun(run);
  EXPECT_TRUE(ran.ok()) << ran.err;
  EXPECT_EQ(ran.err, "");
  EXPECT_EQ(ran.out, run.words[0] + " done by " + std::to_string(run.size) + " ranks\n");
}

TEST_F(Mpi, GathersTexts) { expect_mpi_done({.words = {"gather"}}); }
TEST_F(Mpi, GathersTextsAtTheFirst) { expect_mpi_done({.words = {"gather-at-first"}}); }
TEST_F(Mpi, ExchangesRandomPiecesOnManyTags) { expect_mpi_done({.words = {"random"}}); }
TEST_F(Mpi, ExchangesRandomPiecesInChunks) {
  expect_mpi_done({.size = 4, .words = {"random"}, .variables = {{"COMM_CHUNK", "1000"}}});
}
TEST_F(Mpi, KeepsTheOrderOfATag) {
  expect_mpi_done({.words = {"ordered"}});
  expect_mpi_done({.size = 3, .words = {"ordered"}, .variables = {{"COMM_CHUNK", "4096"}}});
}
TEST_F(Mpi, SendsLargePiecesInChunks) {
  for (const char* bytes : {"0", "4096", "4097", "10000019"})
    expect_mpi_done({.size = 4, .words = {"large", bytes}, .variables = {{"COMM_CHUNK", "4096"}}});
}

void expect_mpi_error(const RunOf& run, std::vector<const char*> words) {
  const Ran ran = run_by_mpirun(run);
  EXPECT_TRUE(ran.all_failed());
  const std::vector<std::string> lines = ran.lines("megalith:");
  ASSERT_EQ(lines.size(), 1u) << ran.err;
  for (const char* word : words) EXPECT_NE(lines[0].find(word), std::string::npos) << lines[0] << "\nlacks " << word;
}

TEST_F(Mpi, TimeoutsNameTheMissingRanks) {
  const Variables soon = {{"COMM_TIMEOUT", "1"}};
  expect_mpi_error({.size = 6, .words = {"late"}, .variables = soon},
                   {"ranks 1, 3 and 5 did not come within 1 s", "the loss's sum over dp"});
  expect_mpi_error({.size = 6, .words = {"not-send"}, .variables = soon},
                   {"waited 1 s for ranks 1, 3 and 5", "all_gather over tp_kv tp_rep, layer 3 attention"});
}

TEST_F(Mpi, SizesMustAgree) {
  expect_mpi_error({.size = 2, .words = {"wrong-sizes", "50"}}, {"rank 1", "rank 0 sent 50 bytes instead of 100"});
  expect_mpi_error({.size = 2, .words = {"wrong-sizes", "150"}}, {"rank 1", "rank 0 sent more than the 100 bytes"});
}

TEST_F(Mpi, AnErrorOfOneRankEndsAllInOneLine) {
  for (const char* rank : {"3", "0"})
    expect_mpi_error({.words = {"throw", rank}}, {(std::string("rank ") + rank).c_str(),
                                                  "failed: shard 5 has a wrong checksum", "loading layer 7"});
}
TEST_F(Mpi, AnErrorOfAllRanksIsOneLine) { expect_mpi_error({.words = {"throw-all"}}, {"failed: --lr -1 is negative"}); }
TEST_F(Mpi, ARankThatLeavesEarlyEndsAll) { expect_mpi_error({.words = {"leave", "2"}}, {"rank 2", "disappeared"}); }

}  // namespace
}  // namespace megalith::test
