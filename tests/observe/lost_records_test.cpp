// Tests of runs that end early. All files must have all completed iterations, in order.
#include <gtest/gtest.h>

#include "exec/cpu/backend.h"
#include "tests/train/small_run.h"
#include "told_iterations.h"
#include "train/pretrain.h"
#include "wandb_reader.h"

namespace megalith {
namespace {

namespace fs = std::filesystem;

std::string only_file(const fs::path& dir, const std::string& part) {
  std::string found;
  for (const auto& entry : fs::recursive_directory_iterator(dir))
    if (entry.path().filename().string().find(part) != std::string::npos) found = entry.path().string();
  EXPECT_FALSE(found.empty()) << part;
  return found.empty() ? "" : read_file(found);
}

// `last`: the last step of a run with a fault; 0: take it from its checkpoint.
void expect_all(const std::string& name, const std::string& flags, i64 last, const std::string& error) {
  const TempFolder folder("lost_" + name);
  const std::string dir = folder.path.string();
  const Options o =
      options_for(1, "--train-iters 20000 --log-interval 1 --eval-iters 0 --inject-allowed --metrics-file " + dir +
                         "/metrics.jsonl --tensorboard-dir " + dir + "/tb --wandb-project p --wandb-save-dir " + dir +
                         " --save " + dir + "/ck --save-interval 5000 " + flags);
  std::string said;
  testing::internal::CaptureStdout();
  testing::internal::CaptureStderr();
  try {
    pretrain(o, *make_cpu_backend(), *join(Place{}));
  } catch (const Error& e) {
    said = e.what();
  }
  testing::internal::GetCapturedStdout();
  testing::internal::GetCapturedStderr();
  EXPECT_NE(said.find(error), std::string::npos) << said;
  EXPECT_EQ(said.empty(), error.empty()) << said;
  if (last == 0) last = std::stoll(only_file(folder.path, "latest_checkpointed_iteration"));
  std::vector<i64> all;
  for (i64 i = 1; i <= last; ++i) all.push_back(i);
  EXPECT_EQ(in_metrics_file(dir + "/metrics.jsonl"), all);
  EXPECT_EQ(in_wandb(only_file(folder.path, ".wandb")), all);
  EXPECT_EQ(in_tensorboard(only_file(folder.path, "tfevents")), all);
  // The file has the exit code: 0, or 1 if the run failed.
  const std::string end = record_part(read_wandb(only_file(folder.path, ".wandb")).back(), 18);
  EXPECT_EQ(proto_fields(end).at(0).number, error.empty() ? 2 : 1) << name;
}

TEST(Records, AreAllThereBehindAnError) { expect_all("error", "--inject throw@0:6", 5, "the planted fault"); }
TEST(Records, AreAllThereBehindSigterm) { expect_all("term", "--inject term@0:6", 0, ""); }
TEST(Records, AreAllThereBehindASkippedStepThatEndsTheRun) {
  expect_all("nan", "--inject nan@0:6:layers.0.mlp.einsum.0 --max-skipped-iterations-in-a-row 1", 6,
             "1 iterations in a row are skipped");
}

}  // namespace
}  // namespace megalith
