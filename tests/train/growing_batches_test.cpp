// Steps with a growing batch size must have the same losses under any layout. One pipeline plan has the schedules for
// all numbers of micro-batches.
#include <gtest/gtest.h>

#include "exec/cpu/backend.h"
#include "settings/batch_sizes.h"
#include "settings/schedules.h"
#include "small_run.h"
#include "step/model_state.h"
#include "tests/harness/thread_ranks.h"
#include "train/evaluation.h"
#include "train/open_data.h"

namespace megalith {
namespace {

constexpr const char* kGrowing =
    "--num-layers 4 --global-batch-size 24 --rampup-batch-size 8 4 60 --micro-batch-size 1 --train-iters 8 ";

struct SeenBatch {
  std::vector<double> losses;
  std::vector<i64> samples;
};

// The results on the first rank of the last stage.
SeenBatch trained(int ranks, const std::string& flags) {
  SeenBatch seen;
  harness::run_ranks(ranks, [&](Ranks& here) {
    const Options o = options_for(ranks, kGrowing + flags);
    const auto backend = make_cpu_backend(&here);
    const Mesh mesh = mesh_of(o.parallel, o.model);
    const PlannedStep step = plan_step(step_spec(o, mesh.place(mesh.coord(here.rank()), groups::pipeline)), *backend);
    const Coord coord = ranks > 1 ? step.plan.mesh.coord(here.rank()) : Coord{};
    const auto interpreter = backend->make_interpreter(step.plan, coord);
    ModelState model(step, *interpreter, coord);
    model.initialise(7), model.finish();
    const BatchSizes sizes(o);
    const Datasets sets = open_datasets(o, {.train = 400});
    DataLoader loader(sets.train, rank_loader_config(o, step.plan.mesh, coord, Split::train, 0));
    Trainer trainer(step, *interpreter, coord, o.optimizer, make_schedules(o));
    RunState state;
    SeenBatch mine;
    for (int k = 0; k < 8; ++k) {
      trainer.start_step(loader, sizes.at(loader.consumed_samples()) / sizes.at_once(), state);
      const StepResult r = trainer.finish_step(state);
      mine.losses.push_back(r.loss), mine.samples.push_back(r.samples);
    }
    if (here.rank() == 0) seen = mine;
  });
  return seen;
}

TEST(GrowingBatches, AreTheSameUnderEveryLayout) {
  const SeenBatch alone = trained(1, "");
  // The batch size is 8 + 4 k from sample 15 k.
  EXPECT_EQ(alone.samples, (std::vector<i64>{8, 8, 12, 12, 16, 20, 24, 24}));
  struct Case {
    int ranks;
    const char* flags;
  };
  for (const auto& [ranks, flags] :
       {Case{2, ""},
        {2, "--use-distributed-optimizer --overlap-grad-reduce --overlap-param-gather"},
        {2, "--pipeline-model-parallel-size 2"},
        {4, "--pipeline-model-parallel-size 4 --micro-batch-size 2"},
        {2, "--pipeline-model-parallel-size 2 --pipeline-schedule zero-bubble"},
        {2, "--pipeline-model-parallel-size 2 --num-layers-per-virtual-pipeline-stage 1"},
        {4, "--pipeline-model-parallel-size 2 --use-distributed-optimizer --overlap-grad-reduce"}}) {
    SCOPED_TRACE(flags);
    const SeenBatch seen = trained(ranks, flags);
    EXPECT_EQ(seen.samples, alone.samples);
    for (size_t k = 0; k < alone.losses.size(); ++k) EXPECT_NEAR(seen.losses[k], alone.losses[k], 2e-5) << k;
  }
}

}  // namespace
}  // namespace megalith
