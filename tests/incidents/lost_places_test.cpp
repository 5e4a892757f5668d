// The places of a run's files fail during the run. Each failure is one line, the run continues, and what is there is
// complete.
#include <sys/mount.h>
#include <sys/statvfs.h>

#include <filesystem>

#include "tests/cli/small_disk.h"
#include "tests/cli/workshop.h"
#include "tests/observe/told_iterations.h"

namespace megalith::test {
namespace {

namespace fs = std::filesystem;

class LostPlaces : public Workshop {
 protected:
  static constexpr i64 kSteps = 1500;

  std::string run(const std::string& more) {
    return fmt::format(
        "pretrain-gpt --num-layers 1 --hidden-size 32 --num-attention-heads 2 --seq-length 32 --micro-batch-size 2 "
        "--mock-data --vocab-size 300 --lr 1e-4 --eval-iters 0 --no-progress --log-interval 1 --train-iters {} {}",
        kSteps, more);
  }
  std::string sinks() {
    return fmt::format("--metrics-file {0}/m.jsonl --tensorboard-dir {0}/tb --wandb-project p --wandb-save-dir {0}",
                       places_);
  }
  // The only file below the places with this in its name.
  std::string only(const std::string& part) const {
    std::vector<std::string> found;
    for (const auto& entry : fs::recursive_directory_iterator(places_))
      if (entry.is_regular_file() && entry.path().filename().string().find(part) != std::string::npos)
        found.push_back(entry.path());
    EXPECT_EQ(found.size(), 1u) << part;
    return found.empty() ? "" : found[0];
  }
  i64 lines() const {
    const std::string text = fs::exists(places_ + "/m.jsonl") ? slurp(places_ + "/m.jsonl") : "";
    return std::ranges::count(text, '\n');
  }
  // The three files have iterations in ascending order, up to the last one. Returns how many all of them lack.
  std::vector<i64> lacks() const {
    std::vector<i64> lacking;
    for (const std::vector<i64>& all : {in_metrics_file(places_ + "/m.jsonl"), in_wandb(slurp(only(".wandb"))),
                                        in_tensorboard(slurp(only("tfevents")))}) {
      EXPECT_TRUE(std::ranges::is_sorted(all));
      EXPECT_FALSE(all.empty());
      if (!all.empty()) EXPECT_EQ(all.back(), kSteps);
      lacking.push_back(kSteps - i64(all.size()));
    }
    return lacking;
  }
  static i64 count(const std::string& text, const std::string& part) {
    i64 n = 0;
    for (size_t at = 0; (at = text.find(part, at)) != std::string::npos; ++at) ++n;
    return n;
  }
  static i64 warnings(const Ran& ran) { return count(ran.err, "warning: "); }
  // Exactly three warnings, one for each file.
  static void expect_a_line_for_each_file(const Ran& ran, const std::string& part) {
    EXPECT_EQ(ran.exit_code, 0) << ran.err;
    EXPECT_NE(ran.out.find(fmt::format("iteration {:8}/", kSteps)), std::string::npos) << ran.out.substr(0, 2000);
    EXPECT_EQ(warnings(ran), 3) << ran.err;
    for (const char* what : {"metrics file ", "TensorBoard file ", "W&B file "}) {
      const size_t at = ran.err.find(std::string("warning: ") + what);
      ASSERT_NE(at, std::string::npos) << what << ran.err;
      const std::string line = ran.err.substr(at, ran.err.find('\n', at) - at);
      EXPECT_NE(line.find(part), std::string::npos) << line;
      EXPECT_TRUE(line.ends_with("; the run continues")) << line;
    }
  }

  const std::string places_ = *this / "places";
};

TEST_F(LostPlaces, RemovedFoldersAreMadeAgain) {
  bool removed = false;
  RunLimits limits;
  limits.kill = [&] {
    if (removed || lines() < 10) return false;
    // All at once: the run makes files again while this process removes them one by one.
    fs::rename(places_, *this / "gone"), fs::remove_all(*this / "gone");
    removed = true;
    return false;
  };
  const Ran ran = megalith(run(sinks()), limits);
  ASSERT_TRUE(removed);
  expect_a_line_for_each_file(ran, "it was removed: later records go to ");
  for (const i64 lacking : lacks()) {
    EXPECT_GE(lacking, 1);
    EXPECT_LT(lacking, kSteps);
  }
}

TEST_F(LostPlaces, FullDisksLoseWholeRecords) {
  fs::create_directories(places_);
  const bool ran_there = on_small_disk(places_, 8 << 20, [&] {
    const fs::path filler = places_ + "/filler";
    i64 loses_since = 0;  // the step at which each file had lost a record
    bool freed = false;
    RunLimits limits;
    limits.output = *this / "run";
    limits.kill = [&] {
      struct statvfs room {};
      if (freed || statvfs(places_.c_str(), &room) != 0) return false;
      const auto steps = [&] { return count(slurp(limits.output + ".out"), " iteration "); };
      if (!fs::exists(filler)) {
        if (lines() >= 10) spit(filler, std::string(room.f_bavail * room.f_bsize, 'x'));
      } else if (loses_since == 0) {
        if (count(slurp(limits.output + ".err"), "warning: ") == 3) loses_since = steps();
      } else if (steps() > loses_since + 2) {  // the first lost record may be none of an iteration
        freed = fs::remove(filler);
      }
      return false;
    };
    const Ran ran = megalith(run(sinks()), limits);
    ASSERT_TRUE(freed);
    expect_a_line_for_each_file(ran, "No space left on device: records are lost");
    for (const i64 lacking : lacks()) {
      EXPECT_GE(lacking, 1);
      EXPECT_LT(lacking, kSteps);
    }
  });
  if (!ran_there) GTEST_SKIP() << "this user may not mount a file system of its own";
}

// Nobody's permissions matter here: root may write everywhere.
TEST_F(LostPlaces, UnwritableFoldersOfWandbCostOneLine) {
  fs::create_directories(places_);
  spit(places_ + "/file", "");
  const Ran ran = megalith(run("--wandb-project p --wandb-save-dir " + places_ + "/file"));
  EXPECT_EQ(ran.exit_code, 0) << ran.err;
  EXPECT_NE(ran.err.find("warning: --wandb-save-dir: cannot make "), std::string::npos) << ran.err;
  EXPECT_NE(ran.err.find("(Not a directory): choose another place; the run continues without it\n"), std::string::npos)
      << ran.err;
  EXPECT_EQ(warnings(ran), 1) << ran.err;
}

// A run from the beginning refuses such folders (tests/cli/bad_input_test.cpp).
TEST_F(LostPlaces, ResumedRunsTrainWithoutTheirFiles) {
  spit(*this / "file", "");
  const std::string saves = fmt::format("--lr-decay-iters 9 --save {0} --load {0} --save-interval 2 ", *this / "ck");
  must(run(saves + "--train-iters 4 --exit-interval 2"));
  const Ran ran = megalith(run(saves + fmt::format("--train-iters 4 --metrics-file {0}/m --tensorboard-dir {0}/tb "
                                                   "--wandb-project p --wandb-save-dir {0}/w",
                                                   *this / "file")));
  EXPECT_EQ(ran.exit_code, 0) << ran.err;
  EXPECT_TRUE(fs::exists(*this / "ck/iter_0000004"));
  EXPECT_EQ(warnings(ran), 3) << ran.err;
  for (const char* what : {"metrics file ", "TensorBoard file ", "--wandb-save-dir"})
    EXPECT_NE(ran.err.find(std::string("warning: ") + what), std::string::npos) << ran.err;
}

}  // namespace
}  // namespace megalith::test
