// --decoupled-lr: tests that word embeddings and the output layer have their own learning rates. The update is divided
// among ranks in every way.
#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>

#include "exec/cpu/backend.h"
#include "resume/resume.h"
#include "settings/schedules.h"
#include "small_run.h"
#include "step/model_state.h"
#include "tests/harness/thread_ranks.h"
#include "train/evaluation.h"
#include "train/open_data.h"

namespace megalith {
namespace {

using Weights = std::map<std::string, std::vector<float>>;  // by tensor and offset

Weights weights_of(const ModelState& model) {
  Weights out;
  for (const StateTensor& t : model.tensors())
    for (const StatePiece& p : t.is_weight ? model.pieces(t) : std::vector<StatePiece>()) {
      std::vector<float>& values = out[fmt::format("{} {}", t.name, fmt::join(p.offset, ","))];
      values.resize(size_t(count(p.shape)));
      model.read(p, 0, values);
    }
  return out;
}

// The weights of rank 0 after this many steps.
Weights trained(int ranks, const std::string& flags, int steps) {
  Weights out;
  harness::run_ranks(ranks, [&](Ranks& here) {
    const Options o = options_for(ranks, "--untie-embeddings-and-output-weights --lr-decay-style constant " + flags);
    const auto backend = make_cpu_backend(&here);
    const PlannedStep step = plan_step(step_spec(o), *backend);
    const Coord coord = ranks > 1 ? step.plan.mesh.coord(here.rank()) : Coord{};
    const auto interpreter = backend->make_interpreter(step.plan, coord);
    ModelState model(step, *interpreter, coord);
    model.initialise(7), model.finish();
    const Datasets sets = open_datasets(o, {.train = 64});
    DataLoader loader(sets.train, rank_loader_config(o, step.plan.mesh, coord, Split::train, 0));
    Trainer trainer(step, *interpreter, coord, o.optimizer, make_schedules(o));
    RunState state;
    for (int k = 0; k < steps; ++k) {
      trainer.start_step(loader, 1, state);
      EXPECT_TRUE(trainer.finish_step(state).counted);
    }
    if (here.rank() == 0) out = weights_of(model);
  });
  return out;
}

struct Case {
  int ranks;
  const char* flags;
};
const Case kCases[] = {{1, ""},
                       {1, "--bf16"},
                       {1, "--optimizer sgd"},
                       {1, "--optimizer-cpu-offload --overlap-cpu-optimizer-d2h-h2d"},
                       {2, "--tensor-model-parallel-size 2"},
                       {2, "--use-distributed-optimizer --bf16 --overlap-param-gather --overlap-grad-reduce"}};

}  // namespace

TEST(DecoupledRate, MovesTheVocabularyAlone) {
  for (const auto& [ranks, flags] : kCases) {
    SCOPED_TRACE(flags);
    const Weights before = trained(ranks, flags, 0),
                  after = trained(ranks, flags + std::string(" --weight-decay 0 --decoupled-lr 0"), 2);
    int still = 0, moved = 0;
    for (const auto& [name, values] : before) {
      const bool vocabulary = name.find("word_embeddings.weight") != std::string::npos ||
                              name.find("output_layer.weight") != std::string::npos;
      EXPECT_EQ(values == after.at(name), vocabulary) << name;
      ++(vocabulary ? still : moved);
    }
    EXPECT_GE(still, 1);
    EXPECT_GT(moved, 2);
  }
}

TEST(DecoupledRate, OfTheSameNumbersChangesNothing) {
  for (const auto& [ranks, flags] : kCases) {
    SCOPED_TRACE(flags);
    EXPECT_TRUE(trained(ranks, flags, 3) == trained(ranks, flags + std::string(" --decoupled-lr 1e-3"), 3));
  }
}

TEST(DecoupledRate, IsPartOfTheSchedule) {
  const Options with = options_for(1, "--decoupled-lr 5e-4 --decoupled-min-lr 1e-5"), without = options_for(1, "");
  const nlohmann::json stored = schedules_to_json(make_schedules(with));
  const Schedules again = schedules_from_json(stored, "here");
  EXPECT_EQ(schedules_to_json(again), stored);
  EXPECT_EQ(again.decoupled->at(50), make_schedules(with).decoupled->at(50));
  EXPECT_NO_THROW(choose_schedules(with, stored, "here"));
  EXPECT_THROW(choose_schedules(without, stored, "here"), Error);
  EXPECT_THROW(choose_schedules(with, schedules_to_json(make_schedules(without)), "here"), Error);
}

TEST(DecoupledRate, MistakesAreNamed) {
  const auto refused = [](const std::string& flags) {
    return refusal_of(std::string(kSmallRun) + "--vocab-size 101 " + flags);
  };
  EXPECT_NE(refused("--decoupled-min-lr 1e-5").find("without --decoupled-lr"), std::string::npos);
  EXPECT_NE(refused("--decoupled-lr 1e-5 --decoupled-min-lr 1e-4").find("is more than --decoupled-lr"),
            std::string::npos);
  EXPECT_NE(refused("--decoupled-lr=-1").find("must not be negative"), std::string::npos);
}

}  // namespace megalith
