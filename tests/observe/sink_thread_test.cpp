// Tests of sinks on their own thread. No record is lost, the order is kept, and no sink stops the run.
#include "observe/sink_thread.h"

#include <gtest/gtest.h>

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <thread>

#include "base/check.h"

namespace megalith {
namespace {

struct Seen {
  std::mutex mutex;
  std::condition_variable changed;
  std::vector<i64> iterations;
  std::vector<std::thread::id> threads;
  bool is_open = true;  // false: the sink is stuck
  int finished = 0;

  void open(bool on) {
    const std::lock_guard lock(mutex);
    is_open = on;
    changed.notify_all();
  }
};

class KeptSink final : public Sink {
 public:
  explicit KeptSink(std::shared_ptr<Seen> seen) : seen_(std::move(seen)) {}
  void take(const Record& r) override {
    std::unique_lock lock(seen_->mutex);
    seen_->changed.wait(lock, [&] { return seen_->is_open; });
    seen_->iterations.push_back(r.iteration), seen_->threads.push_back(std::this_thread::get_id());
    if (r.iteration == 13) fail("thirteen");
  }
  void finish() override {
    ++seen_->finished;
    seen_->threads.push_back(std::this_thread::get_id());
  }

 private:
  std::shared_ptr<Seen> seen_;
};

class SinkThreadTest : public ::testing::Test {
 protected:
  std::unique_ptr<SinkThread> begun(SinkLimits limits = {}, int sinks = 1) {
    std::vector<std::unique_ptr<Sink>> all;
    for (int i = 0; i < sinks; ++i) all.push_back(std::make_unique<KeptSink>(seen_));
    return std::make_unique<SinkThread>("the test's sinks", std::move(all), clock_, limits);
  }
  static void post(SinkThread& to, i64 iteration, bool wakes = true) {
    to.post([record = Record{.iteration = iteration}](Sink& sink) { sink.take(record); }, wakes);
  }
  std::vector<i64> iterations() {
    const std::lock_guard lock(seen_->mutex);
    return seen_->iterations;
  }
  static std::vector<i64> up_to(i64 n) {
    std::vector<i64> all;
    for (i64 i = 1; i <= n; ++i) all.push_back(i);
    return all;
  }
  std::shared_ptr<Seen> seen_ = std::make_shared<Seen>();
  std::shared_ptr<ToldAt> clock_ = std::make_shared<ToldAt>();
};

TEST_F(SinkThreadTest, TakeAllInOrderOnTheirThread) {
  const auto thread = begun();
  for (i64 i = 1; i <= 12; ++i) post(*thread, i, i % 5 == 0);
  EXPECT_TRUE(thread->flush());
  EXPECT_EQ(iterations(), up_to(12));
  for (const auto id : seen_->threads) EXPECT_NE(id, std::this_thread::get_id());
  thread->finish();
  EXPECT_EQ(seen_->finished, 1);
  EXPECT_EQ(seen_->threads.back(), std::this_thread::get_id());
  EXPECT_GT(thread->seconds(), 0);
}

// The run fails. Its files must have all queued records.
TEST_F(SinkThreadTest, TakeWhatIsQueuedWhenTheRunGoesAway) {
  auto thread = begun();
  seen_->open(false);
  for (i64 i = 1; i <= 10; ++i) post(*thread, i, false);
  seen_->open(true);
  thread.reset();
  EXPECT_EQ(iterations(), up_to(10));
  EXPECT_EQ(seen_->finished, 0);
}

TEST_F(SinkThreadTest, AreTakenWithoutBeingWoken) {
  const auto thread = begun();
  post(*thread, 1, false);
  for (int i = 0; i < 1000 && iterations().empty(); ++i) std::this_thread::sleep_for(std::chrono::milliseconds(10));
  EXPECT_EQ(iterations(), up_to(1));
}

// A slow sink that makes progress delays the run, as without a thread. It gets all records.
TEST_F(SinkThreadTest, HoldTheRunUpWhereTheyAreSlow) {
  const auto thread = begun({.most = 2, .patience = 60});
  seen_->open(false);
  std::atomic<i64> posted = 0;
  std::thread trains([&] {
    for (i64 i = 1; i <= 12; ++i) post(*thread, i), ++posted;
  });
  while (posted < 3) std::this_thread::yield();  // the sink holds one record
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  EXPECT_EQ(posted, 3);
  seen_->open(true);
  trains.join();
  EXPECT_TRUE(thread->flush());
  EXPECT_EQ(iterations(), up_to(12));
  EXPECT_EQ(thread->dropped(), 0);
}

// A sink without progress does not delay the run. Its dropped records are counted and reported.
TEST_F(SinkThreadTest, MissWhatComesWhileTheyAreStuck) {
  testing::internal::CaptureStderr();
  const auto thread = begun({.most = 2, .patience = 0.05});
  seen_->open(false);
  for (i64 i = 1; i <= 9; ++i) post(*thread, i);  // the sink holds one, two wait, and the others are dropped
  EXPECT_GE(thread->dropped(), 6);
  EXPECT_FALSE(thread->flush());
  const i64 dropped = thread->dropped();
  seen_->open(true);
  EXPECT_TRUE(thread->flush());
  post(*thread, 10);
  thread->finish();
  const std::string said = testing::internal::GetCapturedStderr();
  EXPECT_NE(
      said.find("warning: the test's sinks: it accepted no record for 0.05 seconds: records are dropped until it does"),
      std::string::npos)
      << said;
  EXPECT_NE(said.find(fmt::format("{} records are dropped so far", dropped)), std::string::npos) << said;
  EXPECT_EQ(i64(iterations().size()), 10 - dropped);
  EXPECT_TRUE(std::ranges::is_sorted(iterations()));
  EXPECT_EQ(iterations().back(), 10);
}

// The sink is stuck at the end of the run. The run abandons it and ends.
TEST_F(SinkThreadTest, AreLeftWhereTheyAreStuckAtTheEnd) {
  testing::internal::CaptureStderr();
  auto thread = begun({.most = 8, .patience = 0.05, .last_patience = 0.05});
  seen_->open(false);
  for (i64 i = 1; i <= 3; ++i) post(*thread, i);
  thread->finish();
  post(*thread, 4);
  EXPECT_EQ(seen_->finished, 0);
  thread.reset();
  EXPECT_NE(testing::internal::GetCapturedStderr().find("accepted no record for 0.05 seconds: 3 records are lost"),
            std::string::npos);
  seen_->open(true);
}

TEST_F(SinkThreadTest, WarnOnceOfASinkThatFails) {
  testing::internal::CaptureStderr();
  const auto thread = begun({}, 2);
  for (const i64 i : {12, 13, 13, 14}) post(*thread, i);
  thread->finish();
  EXPECT_EQ(iterations(), (std::vector<i64>{12, 12, 13, 13, 13, 13, 14, 14}));
  const std::string said = testing::internal::GetCapturedStderr();
  EXPECT_EQ(said, "warning: the test's sinks: thirteen: records are lost; the run continues\n");
}

// For a sink the time of a record is the time at which it was queued.
TEST_F(SinkThreadTest, TellWhenItWas) {
  const auto thread = begun();
  const double before = steady_seconds();
  double at = 0;
  seen_->open(false);
  post(*thread, 1);
  thread->post([&](Sink&) { at = clock_->steady; });
  const double after = steady_seconds();
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  seen_->open(true);
  EXPECT_TRUE(thread->flush());
  EXPECT_GE(at, before);
  EXPECT_LE(at, after);
}

}  // namespace
}  // namespace megalith
