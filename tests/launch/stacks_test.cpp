// The log of a hang has the stacks of all ranks' threads.
#include <fmt/core.h>
#include <gtest/gtest.h>

#include "launch/symbol_names.h"
#include "launched_training.h"

namespace megalith::test {
namespace {

class HungStacks : public LaunchedTraining {
 protected:
  Ended run_with(const std::string& fault) {
    return start({"--standalone", "--nproc-per-node", "2", "--snapshot-steps", "1", "--hang-seconds", "2"},
                 pretrain("run", 5, "--inject-allowed"), {{"MEGALITH_INJECT", fault}})
        .end();
  }
};

TEST_F(HungStacks, OfARankThatWaitsForever) {
  const Ended e = run_with("hang@1:3");
  EXPECT_EQ(e.code, 0) << e.err;
  EXPECT_EQ(e.lines_with("rank 1:   ProcessFault::").size(), 1u) << e.err;  // the function that hangs
  EXPECT_EQ(e.lines_with("rank 1:   main").size(), 1u) << e.err;            // down to the program's begin
  EXPECT_GE(e.lines_with("rank 0:   ").size(), 4u) << e.err;                // those that wait for it
  EXPECT_EQ(e.lines_with("rank 1:   Watch::run()").size(), 1u) << e.err;    // another thread
  EXPECT_EQ(e.lines_with(": restart 1 of 100").size(), 1u) << e.err;
}

TEST_F(HungStacks, OfAStoppedRankAreWhatTheSystemKnows) {
  const Ended e = run_with("stop@1:3");
  EXPECT_EQ(e.code, 0) << e.err;
  bool is_told = false;
  for (const std::string& line : e.lines_with("rank 1: thread"))
    is_told = is_told || line.find("no stack; state T (stopped)") != std::string::npos;
  EXPECT_TRUE(is_told) << e.err;
  EXPECT_EQ(e.lines_with("rank 0:   main").size(), 1u) << e.err;
}

TEST(SymbolNames, DamagedFilesHaveNoSymbols) {
  const std::string base = ::testing::TempDir() + "damaged_elf";
  const std::string whole = text_of_file("/proc/self/exe").substr(0, 4096);
  for (size_t size : {size_t(0), size_t(3), size_t(40), size_t(64), size_t(1000), whole.size()}) {
    std::ofstream(base, std::ios::binary) << whole.substr(0, size);
    EXPECT_EQ(launch::ElfSymbols(base).at(0x100), "") << size;
  }
  EXPECT_EQ(launch::ElfSymbols("/nowhere").at(1), "");
  EXPECT_EQ(launch::SymbolNames().of(0x1234, "1000-2000 r-xp 00000000 00:00 0 \n"), "0x1234");
}

}  // namespace
}  // namespace megalith::test
