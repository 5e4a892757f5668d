// Tests of checkpoint directories that disappear, return, or are taken by another job while a run saves there.
#include <gtest/gtest.h>

#include "base/one_line.h"
#include "ckpt/native/checkpoint_layout.h"
#include "ckpt/native/save_lock.h"
#include "ckpt/native/shards.h"
#include "exec/cpu/backend.h"
#include "resume/background_save.h"
#include "small_run.h"
#include "tests/harness/thread_ranks.h"
#include "tests/harness/wrapped_backend.h"
#include "tests/harness/wrapped_interpreter.h"
#include "train/pretrain.h"

namespace megalith {
namespace {

namespace fs = std::filesystem;

using AtStep = std::function<void(int)>;

// Calls a function when a step begins.
class StepBackend final : public test::WrappedBackend {
 public:
  StepBackend(Ranks& ranks, AtStep at_step) : WrappedBackend(make_cpu_backend(&ranks)), at_step_(std::move(at_step)) {}
  std::unique_ptr<Interpreter> make_interpreter(const Plan& plan, const Coord& coord) const override {
    class Stepping final : public test::WrappedInterpreter {
     public:
      Stepping(std::unique_ptr<Interpreter> real, const AtStep& at_step)
          : WrappedInterpreter(std::move(real)), at_step_(at_step) {}
      void run(int program, bool first, int slot) override {
        if (first) at_step_(++steps_);
        real_->run(program, first, slot);
      }

     private:
      const AtStep& at_step_;
      int steps_ = 0;
    };
    return std::make_unique<Stepping>(real_->make_interpreter(plan, coord), at_step_);
  }

 private:
  AtStep at_step_;
};

struct SaidOfPlace {
  std::string out, err, error;
  int exit_code = -1;
};

// This many ranks train six steps and save after each. `at_step` is called on the first rank.
SaidOfPlace train(int ranks, const std::string& more, const AtStep& at_step) {
  SaidOfPlace said;
  testing::internal::CaptureStdout();
  testing::internal::CaptureStderr();
  try {
    harness::run_ranks(ranks, [&](Ranks& here) {
      const Options o = options_for(ranks, "--train-iters 6 --save-interval 1 --log-interval 1 " + more);
      const StepBackend backend(
          here, here.rank() == 0 ? at_step : [](int) {});
      const int code = pretrain(o, backend, here);
      if (here.rank() == 0) said.exit_code = code;
    });
  } catch (const std::exception& e) {
    said.error = one_line(e);
  }
  said.out = testing::internal::GetCapturedStdout();
  said.err = testing::internal::GetCapturedStderr();
  return said;
}

int count_of(const std::string& text, const std::string& part) {
  int n = 0;
  for (std::size_t at = 0; (at = text.find(part, at)) != std::string::npos; ++at) ++n;
  return n;
}

// The run saves nothing at iterations 2 to 4, and creates nothing in place of the directory. Then the directory
// returns.
TEST(SavePlace, that_vanishes_costs_saves_and_nothing_else) {
  for (const int ranks : {1, 2}) {
    for (const bool mount_point_stays : {false, true}) {
      for (const std::string more : {"", "--async-save"}) {
        const TempFolder folder("vanishes");
        const std::string save = folder.path / "save", away = folder.path / "away";
        const SaidOfPlace said = train(ranks, more + " --save " + save, [&](int step) {
          if (step == 2) {
            fs::rename(save, away);
            if (mount_point_stays) fs::create_directory(save);
          }
          if (step == 5) {
            EXPECT_EQ(fs::exists(save), mount_point_stays);
            EXPECT_TRUE(!mount_point_stays || fs::is_empty(save));
            fs::remove_all(save);
            fs::rename(away, save);
          }
        });
        SCOPED_TRACE(
            fmt::format("{} ranks {} {}\n{}{}{}", ranks, mount_point_stays, more, said.out, said.err, said.error));
        EXPECT_EQ(said.exit_code, 0);
        const int lost = count_of(said.err, "was not saved, training continues: ");
        const int gone = count_of(said.err, "is not the directory that it was when the run began: mount it again");
        if (more.empty())
          EXPECT_TRUE(lost == 3 * ranks && gone == lost) << lost << " lost, " << gone << " gone";
        else  // the save in progress may be lost, or wait until the directory returns
          EXPECT_TRUE(lost >= 2 * ranks && gone >= 2 * ranks) << lost << " lost, " << gone << " gone";
        EXPECT_TRUE(!more.empty() || fs::exists(save + "/iter_0000001"));  // or the save was in progress
        EXPECT_FALSE(fs::exists(save + "/iter_0000003"));
        EXPECT_EQ(read_file(save + "/latest_checkpointed_iteration.txt"), "6");
        ASSERT_FALSE(HasFailure()) << "a failure in a step is in the captured output";
      }
    }
  }
}

TEST(SavePlace, is_the_loaded_one_however_it_is_spelled) {
  const TempFolder folder("spelled");
  const std::string save = folder.path / "save";
  const auto nothing = [](int) {};
  train(1, "--save " + save, nothing);
  const SaidOfPlace again = train(1, fmt::format("--save {0} --load {0}/", save), nothing);
  EXPECT_NE(again.out.find("nothing is left to train"), std::string::npos) << again.out;
  EXPECT_EQ(again.out.find("successfully saved"), std::string::npos) << again.out;
}

// During the run a directory appears among the non-persistent checkpoints that is not one.
TEST(SavePlace, of_copies_keeps_what_is_no_copy) {
  const TempFolder folder("no_copy");
  const std::string save = folder.path / "save", copies = folder.path / "copies";
  const SaidOfPlace said =
      train(1,
            "--save-interval 3 --non-persistent-save-interval 1 --non-persistent-ckpt-type global "
            "--non-persistent-global-ckpt-dir " +
                copies + " --save " + save,
            [&](int step) {
              if (step != 5) return;
              fs::copy(save + "/iter_0000003", copies + "/iter_0000003", fs::copy_options::recursive);
            });
  EXPECT_EQ(said.exit_code, 0) << said.err << said.error;
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(copies))
    if (entry.is_directory()) names.push_back(entry.path().filename().string());
  std::ranges::sort(names);
  EXPECT_EQ(names, (std::vector<std::string>{"iter_0000003", "iter_0000005"}));
}

TEST(SavePlace, of_another_jobs_ends_the_run_before_its_next_save) {
  const TempFolder folder("taken");
  const std::string save = folder.path / "save", lock = save + "/" + kLockFile;
  const SaidOfPlace said = train(2, "--save " + save, [&](int step) {
    std::string text = read_file(lock);
    if (step == 3) write_file(lock, text.replace(text.find("\"host\":\""), 8, "\"host\":\"far-"));
  });
  EXPECT_NE(said.error.find("has taken over from this one"), std::string::npos) << said.error;
  EXPECT_TRUE(fs::exists(save + "/iter_0000002"));
  EXPECT_FALSE(fs::exists(save + "/iter_0000003"));
}

// Two ranks save over an older checkpoint. At one of the steps another job takes the lock.
struct InFlight {
  std::string error, latest, said;
  bool has_old = false, has_new = false, has_unfinished = false;
};
InFlight taken_over_at(const std::function<bool(const FileStep&)>& moment) {
  const TempFolder folder("in_flight");
  const std::string dir = folder.path;
  const SaveLock lock(dir);
  InFlight f;
  testing::internal::CaptureStderr();
  harness::run_ranks(2, [&](Ranks& ranks) {
    const float value = float(ranks.rank());
    for (const int iteration : {1, 2}) {
      SaveOptions options{.keep_last = 1};
      options.still_ours = [&] { lock.check_held(); };
      options.hook = [&](const FileStep& step) {
        if (iteration == 2 && moment(step)) write_file(dir + "/" + kLockFile, R"({"host":"far"})");
      };
      const SaveTensor block{"x", {1}, DType::f32, &value, {2}, {ranks.rank()}};
      BackgroundSave save(ranks, SaveSteps(dir, iteration, options), false, [&] {
        return std::make_unique<ShardWriter>(Manifest{.iteration = iteration}, std::vector<SaveTensor>{block},
                                             ranks.rank(), options);
      });
      const std::string error = save.wait().error;
      if (ranks.rank() == 1) f.error = error;
    }
  });
  f.said = testing::internal::GetCapturedStderr();
  f.latest = read_file(dir + "/" + kLatestFile);
  f.has_old = fs::exists(dir + "/iter_0000001"), f.has_new = fs::exists(dir + "/iter_0000002");
  for (const auto& entry : fs::directory_iterator(dir))
    f.has_unfinished |= entry.path().filename().string().starts_with("iter_0000002.tmp-");
  return f;
}

TEST(SavePlace, that_is_taken_over_during_a_save_gets_no_checkpoint) {
  const InFlight f = taken_over_at([](const FileStep& s) { return s.kind == "fsync" && s.path.ends_with("json"); });
  EXPECT_NE(f.error.find("rank 0: --save "), std::string::npos) << f.error;
  EXPECT_NE(f.error.find("has taken over from this one"), std::string::npos) << f.error;
  EXPECT_EQ(f.latest, "1");
  EXPECT_TRUE(f.has_old);
  EXPECT_FALSE(f.has_new);
  EXPECT_TRUE(f.has_unfinished) << "it may be the other job's";
}

TEST(SavePlace, that_is_taken_over_keeps_what_latest_names) {
  const InFlight f = taken_over_at([](const FileStep& s) { return s.kind == "rename" && s.target.ends_with("2"); });
  EXPECT_NE(f.error.find("has taken over from this one"), std::string::npos) << f.error;
  EXPECT_EQ(f.latest, "1");
  EXPECT_TRUE(f.has_old);
}

TEST(SavePlace, that_is_taken_over_after_a_save_keeps_its_old_checkpoints) {
  const InFlight f = taken_over_at([](const FileStep& s) { return s.kind == "rename" && s.target.ends_with("txt"); });
  EXPECT_EQ(f.error, "");
  EXPECT_EQ(f.latest, "2");
  EXPECT_TRUE(f.has_old && f.has_new);
  EXPECT_NE(f.said.find("could not be removed: --save "), std::string::npos) << f.said;
}

}  // namespace
}  // namespace megalith
