// The ledger's sums, with a clock of the test, and for files that kills and users have damaged.
#include "goodput/ledger.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <random>

namespace megalith {
namespace {

namespace fs = std::filesystem;

class LedgerFile : public ::testing::Test {
 protected:
  LedgerFile() {
    std::string pattern = (fs::temp_directory_path() / "megalith-ledger-XXXXXX").string();
    dir_ = mkdtemp(pattern.data());
  }
  ~LedgerFile() override { fs::remove_all(dir_); }

  std::string path() const { return dir_ + "/goodput.jsonl"; }
  void put(const std::string& text) { std::ofstream(path(), std::ios::binary) << text; }
  // A start whose process began `age` seconds ago.
  Ledger begin(double age) {
    return Ledger(dir_, "megalith test", {[this] { return now_ - 1e9; }, [this] { return now_; }, age});
  }
  LedgerTotal read() const { return sum_ledger(read_ledger(path())); }

  std::string dir_;
  double now_ = 1.7e9;
};

double of(const LedgerTotal& t, TimeState s) { return t.seconds[size_t(s)]; }

}  // namespace

TEST_F(LedgerFile, EachSecondOfARunIsInOneState) {
  {
    Ledger ledger = begin(2);
    ledger.enter(TimeState::load), now_ += 3;
    ledger.enter(TimeState::init), now_ += 1;
    ledger.start(0);
    for (i64 i = 1; i <= 10; ++i) now_ += 2, ledger.finish_step(i, 0.5);
    ledger.enter(TimeState::eval), now_ += 4;
    ledger.enter(TimeState::save_stall), now_ += 5;
    ledger.enter(TimeState::train);
    ledger.end(10);
    EXPECT_EQ(ledger.total().seconds, read().seconds);
  }
  const LedgerTotal t = read();
  EXPECT_DOUBLE_EQ(of(t, TimeState::init), 3);
  EXPECT_DOUBLE_EQ(of(t, TimeState::load), 3);
  EXPECT_DOUBLE_EQ(of(t, TimeState::train), 15);
  EXPECT_DOUBLE_EQ(of(t, TimeState::data_wait), 5);
  EXPECT_DOUBLE_EQ(of(t, TimeState::eval), 4);
  EXPECT_DOUBLE_EQ(of(t, TimeState::save_stall), 5);
  EXPECT_DOUBLE_EQ(t.wall(), 35);
  EXPECT_EQ(goodput_line(t),
            "goodput 42.9% of 35.0 s in 1 start; seconds: init 3.0, load 3.0, train 15.0, data_wait 5.0, eval 4.0, "
            "save_stall 5.0, lost 0.0, restart 0.0, idle 0.0");
}

// Two starts are killed, one ends normally. The second resumes from iteration 4 of the first; the third starts from
// the beginning.
TEST_F(LedgerFile, WhatALaterStartMakesAgainIsLost) {
  const auto steps = [&](Ledger& ledger, i64 from, i64 to) {
    for (i64 i = from + 1; i <= to; ++i) now_ += 1, ledger.finish_step(i, 0);
  };
  const double began = now_;
  {
    Ledger ledger = begin(0);
    ledger.start(0);
    steps(ledger, 0, 4);
    ledger.enter(TimeState::save_stall), now_ += 2;
    ledger.enter(TimeState::train);
    ledger.write(4);
    steps(ledger, 4, 7);
  }
  now_ += 10;
  {
    Ledger ledger = begin(0);
    ledger.start(4);
    EXPECT_DOUBLE_EQ(of(ledger.total(), TimeState::lost), 3);
    EXPECT_DOUBLE_EQ(of(ledger.total(), TimeState::save_stall), 2);
    steps(ledger, 4, 9);
    ledger.end(9);
  }
  const LedgerTotal second = read();
  EXPECT_EQ(second.starts, 2);
  EXPECT_DOUBLE_EQ(of(second, TimeState::train), 9);
  EXPECT_DOUBLE_EQ(of(second, TimeState::restart), 10);
  now_ += 100;
  {
    Ledger ledger = begin(0);
    ledger.start(0);
    steps(ledger, 0, 1);
    ledger.end(1);
  }
  const LedgerTotal third = read();
  EXPECT_DOUBLE_EQ(of(third, TimeState::train), 1);
  EXPECT_DOUBLE_EQ(of(third, TimeState::lost), 14) << "the save's wait is lost with its checkpoint";
  EXPECT_DOUBLE_EQ(of(third, TimeState::idle), 100);
  EXPECT_DOUBLE_EQ(third.wall(), now_ - began);
}

TEST_F(LedgerFile, TakesWhateverItFinds) {
  put("{\"event\":\"start\",\"at\":1699999990,\"iteration\":0}\nnonsense\n[1]\n{\"event\":7,\"at\":1}\n"
      "{\"event\":\"time\",\"at\":\"x\"}\n{\"event\":\"time\",\"at\":1699999995,\"iteration\":\"a\","
      "\"seconds\":{\"train\":5,\"other\":9,\"eval\":null,\"idle\":-4}}\n{\"event\":\"ti");
  EXPECT_DOUBLE_EQ(read().wall(), 5);
  Ledger ledger = begin(0);
  ledger.start(0);
  const auto records = read_ledger(path());
  ASSERT_EQ(records.size(), 4u) << "the cut line has cost no record";
  EXPECT_EQ(records[2].event, LedgerRecord::Event::start);
  EXPECT_EQ(records[2].stack, "megalith test");
  EXPECT_DOUBLE_EQ(of(ledger.total(), TimeState::restart), 5);
  EXPECT_TRUE(read_ledger(dir_ + "/none").empty());
}

TEST_F(LedgerFile, StaysSmall) {
  Ledger ledger = begin(0);
  ledger.start(0);
  for (i64 i = 1; i <= 200'000; ++i) now_ += 0.5, ledger.finish_step(i, 0);
  EXPECT_LT(fs::file_size(path()), 400'000u);
  ledger.end(200'000);
  EXPECT_NEAR(read().wall(), 100'000, 1e-3);
}

// If the clock is set back, no time may be negative.
TEST_F(LedgerFile, AClockSetBackTakesNothing) {
  put("{\"event\":\"start\",\"at\":1700009990,\"iteration\":0}\n{\"event\":\"end\",\"at\":1700009995,\"iteration\":3}"
      "\n");
  Ledger ledger = begin(1);
  ledger.start(3);
  EXPECT_DOUBLE_EQ(ledger.total().wall(), 1);
}

// Lines that cannot be written come with a later record. Between records the file is closed.
TEST_F(LedgerFile, RecordsThatCannotBeWrittenAreNotLost) {
  Ledger ledger = begin(0);
  ledger.start(0);
  fs::rename(dir_, dir_ + "-away");
  now_ += 1, ledger.finish_step(1, 0);
  now_ += 1, ledger.finish_step(2, 0);
  EXPECT_FALSE(fs::exists(path()));
  fs::rename(dir_ + "-away", dir_);
  EXPECT_DOUBLE_EQ(read().wall(), 0);
  now_ += 1, ledger.finish_step(3, 0);
  EXPECT_DOUBLE_EQ(of(read(), TimeState::train), 3);
}

TEST_F(LedgerFile, WithoutADirectoryItCountsAlone) {
  Ledger ledger("", "", {[this] { return now_; }, [this] { return now_; }, 0});
  ledger.start(0);
  now_ += 1;
  ledger.finish_step(1, 0);
  EXPECT_DOUBLE_EQ(ledger.total().wall(), 1);
  EXPECT_EQ(ledger.values().size(), size_t(kNumTimeStates));
  EXPECT_FALSE(fs::exists(path()));
}

}  // namespace megalith
