// Tests of the pass reports that a planned step keeps.
#include <gtest/gtest.h>

#include <map>

#include "exec/cpu/backend.h"
#include "options_helpers.h"
#include "settings/schedules.h"

namespace megalith {
namespace {

// The number of runs of each pass, by graph.
std::map<std::string, std::map<std::string, int>> passes(const std::string& flags) {
  const Options o =
      options_of(std::string(kSmallRun) + "--dry-run --vocab-size 101 --num-layers 8 --global-batch-size 8 " + flags);
  const PlannedStep step = plan_step(step_spec(o), *make_cpu_backend());
  std::map<std::string, std::map<std::string, int>> out;
  for (const PassReport& r : step.passes) ++out[r.of][r.name];
  return out;
}

}  // namespace

TEST(PassReports, OfAPipelineAreOfAllItsGraphs) {
  auto of = passes(
      "--world-size 2 --pipeline-model-parallel-size 2 --num-virtual-stages-per-pipeline-rank 2 --eval-iters 1 "
      "--optimizer-cpu-offload --recompute-granularity full --recompute-method uniform --recompute-num-layers 1");
  for (const std::string piece : {"embedding, layers 0 to 1", "layers 4 to 5"}) {
    EXPECT_EQ(of[piece]["hoist"], 1) << piece;
    EXPECT_EQ(of[piece]["recompute"], 1) << piece;
    EXPECT_EQ(of["evaluation of " + piece]["hoist"], 1) << piece;
    EXPECT_EQ(of["evaluation of " + piece]["recompute"], 0) << piece;
  }
  EXPECT_EQ(of["update"]["hoist"], 1);
  EXPECT_EQ(of["update"]["stream-state"], 1);
  EXPECT_EQ(of.size(), 5u);
}

// The reports are those of the training graph, not of the evaluation graph.
TEST(PassReports, OfOneGraphNeedNoName) {
  auto of = passes("--eval-iters 1 --recompute-granularity full --recompute-method uniform --recompute-num-layers 1");
  EXPECT_EQ(of.size(), 1u);
  EXPECT_EQ(of[""]["hoist"], 1);
  EXPECT_EQ(of[""]["recompute"], 1);
}

TEST(PassReports, OfOffloadedActivationsAreOfWhatTrains) {
  const std::string flags = "--eval-iters 1 --fine-grained-activation-offloading --min-offloaded-tensor-size 0";
  EXPECT_EQ(passes(flags)[""]["offload-activations"], 1);
  auto of = passes("--world-size 2 --pipeline-model-parallel-size 2 --num-virtual-stages-per-pipeline-rank 2 " + flags);
  for (const std::string piece : {"embedding, layers 0 to 1", "layers 4 to 5"}) {
    EXPECT_EQ(of[piece]["offload-activations"], 1) << piece;
    EXPECT_EQ(of["evaluation of " + piece]["offload-activations"], 0) << piece;
  }
}

TEST(PassReports, NameTheirGraphWhereThereAreSeveral) {
  EXPECT_EQ(print({{"hoist", true, 1.5, 12, "update"}, {"ring", false, 0, 12}}),
            "pass hoist                  1.50 ms      12 nodes  changed, update\n"
            "pass ring                   0.00 ms      12 nodes  no change\n");
}

}  // namespace megalith
