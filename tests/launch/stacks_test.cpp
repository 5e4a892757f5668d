// The log of a hang has the stacks of all ranks' threads.
#include <fmt/core.h>
#include <gtest/gtest.h>

#include <fstream>

#include "launch/symbol_names.h"
#include "launched_training.h"

namespace megalith::test {
namespace {

class HungStacks : public LaunchedTraining {
 protected:
  // A thread that gets no core for 0.25 s does not answer. So on a loaded machine up to three runs may be needed.
  void expect_in_a_run_with(const std::string& fault, bool (*shows)(const Ended& e),
                            const std::vector<std::string>& flags = {"--hang-seconds", "2"}) {
    std::string all;
    for (int tries = 0; tries < 3; ++tries) {
      std::vector<std::string> words{"--standalone", "--nproc-per-node", "2", "--snapshot-steps", "1"};
      words.insert(words.end(), flags.begin(), flags.end());
      const Ended e =
          start(words, pretrain(fmt::format("{}-{}", fault.substr(0, fault.find(':')), tries), 5, "--inject-allowed"),
                {{"MEGALITH_INJECT", fault}})
              .end();
      EXPECT_EQ(e.code, 0) << e.err;
      EXPECT_EQ(e.lines_with(": restart 1 of 100").size(), 1u) << e.err;
      if (shows(e)) return;
      all += e.err;
    }
    ADD_FAILURE() << all;
  }
};

TEST_F(HungStacks, OfARankThatWaitsForever) {
  expect_in_a_run_with("hang@1:3", [](const Ended& e) {
    return e.lines_with("rank 1:   ProcessFault::").size() == 1 &&  // the function that hangs
           e.lines_with("rank 1:   main").size() == 1 &&            // down to the program's begin
           e.lines_with("rank 0:   ").size() >= 4 &&                // those that wait for it
           e.lines_with("rank 1:   Watch::run()").size() == 1;      // another thread
  });
}

TEST_F(HungStacks, OfAStoppedRankAreWhatTheSystemKnows) {
  expect_in_a_run_with("stop@1:3", [](const Ended& e) {
    bool is_told = false;
    for (const std::string& line : e.lines_with("rank 1: thread"))
      is_told = is_told || line.find("no stack; state T (stopped)") != std::string::npos;
    return is_told && e.lines_with("rank 0:   main").size() == 1;
  });
}

// With --hang-seconds 0 the watch finds a stopped rank by its silence. Rank 0 hears all ranks, and all hear rank 0.
TEST_F(HungStacks, OfARankThatIsSilent) {
  for (const char* fault : {"stop@1:3", "stop@0:3"})
    expect_in_a_run_with(
        fault,
        [](const Ended& e) {
          const std::vector<std::string> ends = e.lines_with("was silent (stopped, or cut off) after iteration 2");
          if (ends.size() != 1 || e.lines_with("has been silent for 3.").size() != 1) return false;
          const bool is_first = ends[0].find("rank 0 (pid ") != std::string::npos;
          const std::string stopped = is_first ? "rank 0: " : "rank 1: ", other = is_first ? "rank 1: " : "rank 0: ";
          const std::vector<std::string> states = e.lines_with(stopped + "thread");
          return !states.empty() && states[0].find("no stack; state T (stopped)") != std::string::npos &&
                 e.lines_with(other + "  main").size() == 1;
        },
        {"--hang-seconds", "0"});
}

TEST(SymbolNames, DamagedFilesHaveNoSymbols) {
  const std::string base = ::testing::TempDir() + "damaged_elf";
  const std::string whole = text_of_file("/proc/self/exe").substr(0, 4096);
  for (size_t size : {size_t(0), size_t(3), size_t(40), size_t(64), size_t(1000), whole.size()}) {
    std::ofstream(base, std::ios::binary) << whole.substr(0, size);
    EXPECT_EQ(launch::ElfSymbols(base).at(0x100), "") << size;
  }
  EXPECT_EQ(launch::ElfSymbols("/nowhere").at(1), "");
  EXPECT_EQ(launch::SymbolNames().of(0x1234, launch::MappedFiles("1000-2000 r-xp 00000000 00:00 0 \n")), "0x1234");
}

TEST(MappedFiles, AreFoundByAddress) {
  const launch::MappedFiles files(
      "1000-2000 r-xp 00000000 00:00 0 \n"
      "3000-5000 r--p 00001000 08:01 77                         /lib/a name.so\n"
      "damaged\n"
      "5000-6000 r-xp 00003000 08:01 78 /lib/b.so\n"
      "7000-8000 rw-p 00000000 00:00 0                          [stack]");
  for (const u64 address : {0x0ul, 0x1800ul, 0x2ffful, 0x6000ul, 0x7800ul, ~0ul}) EXPECT_EQ(files.of(address), nullptr);
  ASSERT_NE(files.of(0x4fff), nullptr);
  EXPECT_EQ(files.of(0x4fff)->path, "/lib/a name.so");
  EXPECT_EQ(files.of(0x3000)->offset, 0x1000u);
  ASSERT_NE(files.of(0x5000), nullptr);
  EXPECT_EQ(files.of(0x5000)->path, "/lib/b.so");
}

}  // namespace
}  // namespace megalith::test
