// Tests of a standby rank whose device gets its memory late. The rank reads the state before that. Training then
// continues with the same bits.
#include "train/prepared_run.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <cstring>

#include "ckpt/native/checkpoint_layout.h"
#include "exec/cpu/backend.h"
#include "plan/deferred_memory.h"
#include "plan/filled_writes.h"
#include "small_run.h"
#include "tests/harness/thread_ranks.h"
#include "tests/harness/wrapped_backend.h"
#include "tests/harness/wrapped_interpreter.h"
#include "train/pretrain.h"

namespace megalith {
namespace {

struct DeviceRoom {
  bool holds = true;     // the device has memory for the state while the former ranks still run
  bool damaged = false;  // the first write fails
};

struct StateMoves {
  std::atomic<int> written_ahead = 0, written_later = 0, moved = 0, rooms = 0;
};

// An interpreter without memory until take_memory(). Before that every other call fails, because there is no real
// interpreter.
class LateMemory final : public test::WrappedInterpreter, public FilledWrites, public DeferredMemory {
 public:
  LateMemory(std::function<std::unique_ptr<Interpreter>()> make, const DeviceRoom& how, StateMoves& seen)
      : make_(std::move(make)), how_(how), seen_(seen) {}

  bool hold(std::span<const Part> parts) override {
    if (!how_.holds) return false;
    for (const Part& p : parts) held_.push_back({p, std::vector<std::byte>(size_t(p.bytes))});
    return true;
  }
  void let_go() override { held_.clear(); }
  void take_memory() override {
    ASSERT_FALSE(real_);
    real_ = make_();
    for (const Held& h : held_) ++seen_.moved, real_->write_part(*h.part.leaf, h.part.begin, h.bytes);
    held_.clear();
  }
  void fill_part(const Leaf& leaf, i64 begin, i64 bytes, const Put& put) override {
    std::vector<std::byte> data(static_cast<size_t>(bytes));
    put(data.data());
    write_part(leaf, begin, data);
  }
  void write_part(const Leaf& leaf, i64 begin, std::span<const std::byte> data) override {
    if (real_) return ++seen_.written_later, real_->write_part(leaf, begin, data);
    if (how_.damaged) throw DamagedCheckpoint("a byte is wrong");
    ++seen_.written_ahead;
    for (Held& h : held_) {
      const i64 at = begin - h.part.begin;
      if (h.part.leaf != &leaf || at < 0 || at >= h.part.bytes) continue;
      ASSERT_LE(at + i64(data.size()), h.part.bytes);
      std::memcpy(h.bytes.data() + at, data.data(), data.size());
      return;
    }
    FAIL() << leaf.name << " is written where nothing is held";
  }
  std::byte* host_view(const Leaf& leaf) override { return real_ ? real_->host_view(leaf) : nullptr; }

 private:
  struct Held {
    Part part;
    std::vector<std::byte> bytes;
  };
  std::function<std::unique_ptr<Interpreter>()> make_;
  DeviceRoom how_;
  StateMoves& seen_;
  std::vector<Held> held_;
};

class LateMemoryBackend final : public test::WrappedBackend, public DefersMemory {
 public:
  LateMemoryBackend(Ranks& ranks, const DeviceRoom& how, StateMoves& seen)
      : WrappedBackend(make_cpu_backend(&ranks)), how_(how), seen_(seen) {}
  std::unique_ptr<Interpreter> make_interpreter(const Plan& plan, const Coord& coord) const override {
    return real_->make_interpreter(plan, coord);
  }
  std::unique_ptr<Interpreter> make_deferred(const Plan& plan, const Coord& coord) const override {
    return std::make_unique<LateMemory>([this, &plan, coord] { return real_->make_interpreter(plan, coord); }, how_,
                                        seen_);
  }

 private:
  DeviceRoom how_;
  StateMoves& seen_;
};

constexpr int kStandbyRanks = 2;

class StandbyState : public testing::Test {
 protected:
  StandbyState() {
    std::string fds;
    for (int i = 0; i < 2 * kStandbyRanks; ++i) {
      slots_.push_back(memfd_create("slot", MFD_CLOEXEC));
      fds += fmt::format("{}{}", i == 0 ? "2:" : ",", slots_.back());
    }
    setenv("MEGALITH_SNAPSHOT_FDS", fds.c_str(), 1);
  }
  ~StandbyState() override {
    unsetenv("MEGALITH_SNAPSHOT_FDS");
    for (const int fd : slots_) close(fd);
  }

  static Options options(const std::string& more) {
    return options_for(kStandbyRanks,
                       "--bf16 --use-distributed-optimizer --train-iters 9 --log-interval 1 --lr-decay-style constant "
                       "--save-interval 100 " +
                           more);
  }
  std::string save(const std::string& name) const { return (folder_.path / name).string(); }

  // Trains to iteration 5 with snapshots. Then ranks that were on standby continue. Returns what those ranks print.
  std::string train_on(const std::vector<DeviceRoom>& how, StateMoves& seen) {
    testing::internal::CaptureStdout();
    harness::run_ranks(kStandbyRanks, [&](Ranks& ranks) {
      pretrain(options("--exit-interval 5 --save " + save("first")), *make_cpu_backend(&ranks), ranks);
    });
    testing::internal::GetCapturedStdout();
    testing::internal::CaptureStdout();
    harness::run_ranks(kStandbyRanks, [&](Ranks& ranks) {
      const LateMemoryBackend backend(ranks, how[size_t(ranks.rank())], seen);
      StartAhead ahead{.take_over = [] {}};
      ahead.find_room = [&](i64 bytes) { seen.rooms += bytes > 0 && seen.written_later == 0; };
      EXPECT_EQ(pretrain(options("--save " + save("on")), backend, ranks, std::move(ahead)), 0);
    });
    return testing::internal::GetCapturedStdout();
  }
  void expect_same_as_undisturbed() {
    unsetenv("MEGALITH_SNAPSHOT_FDS");
    testing::internal::CaptureStdout();
    harness::run_ranks(kStandbyRanks, [&](Ranks& ranks) {
      pretrain(options("--save " + save("whole")), *make_cpu_backend(&ranks), ranks);
    });
    testing::internal::GetCapturedStdout();
    int files = 0;
    for (const auto& file : std::filesystem::directory_iterator(save("whole") + "/iter_0000009")) {
      if (file.path().extension() != ".safetensors") continue;
      const std::string name = file.path().filename().string();
      EXPECT_TRUE(read_file(file.path().string()) == read_file(save("on") + "/iter_0000009/" + name)) << name;
      ++files;
    }
    EXPECT_GE(files, kStandbyRanks);
  }

 private:
  TempFolder folder_{"prepared"};
  std::vector<int> slots_;
};

}  // namespace

TEST_F(StandbyState, ReadsTheStateBeforeItsDeviceHasMemory) {
  StateMoves seen;
  const std::string said = train_on({{}, {}}, seen);
  EXPECT_NE(said.find("resumes from the snapshot of iteration 4"), std::string::npos) << said;
  EXPECT_GT(seen.written_ahead, 10);
  EXPECT_GT(seen.moved, 10);
  EXPECT_EQ(seen.rooms, kStandbyRanks);
  EXPECT_EQ(seen.written_later, 0) << "read twice";
  expect_same_as_undisturbed();
}

TEST_F(StandbyState, ReadsTheStateAfterThatIfOneRankLacksMemory) {
  StateMoves seen;
  const std::string said = train_on({{}, {.holds = false}}, seen);
  EXPECT_NE(said.find("resumes from the snapshot of iteration 4"), std::string::npos) << said;
  EXPECT_EQ(seen.written_ahead, 0);
  EXPECT_EQ(seen.moved, 0);
  expect_same_as_undisturbed();
}

TEST_F(StandbyState, ReadsTheStateOnceMoreIfOneRankFindsItDamaged) {
  StateMoves seen;
  const std::string said = train_on({{}, {.damaged = true}}, seen);
  EXPECT_NE(said.find("resumes from the snapshot of iteration 4"), std::string::npos) << said;
  EXPECT_GT(seen.written_ahead, 10);
  EXPECT_EQ(seen.moved, 0);
  expect_same_as_undisturbed();
}

}  // namespace megalith
