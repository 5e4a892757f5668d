// A step computes the parameters' norm and the number of zeros in gradients. Compares these with the values that the
// ranks hold.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "data/loader.h"
#include "exec/cpu/backend.h"
#include "passes/gradients.h"
#include "settings/batch_sizes.h"
#include "settings/schedules.h"
#include "small_run.h"
#include "step/model_size.h"
#include "step/model_state.h"
#include "tests/harness/thread_ranks.h"
#include "train/evaluation.h"

namespace megalith {
namespace {

constexpr int kSteps = 2;

struct Norms {
  std::vector<double> params, nonzeros;  // per step
  std::vector<double> held;              // norm of the parameters on all ranks after the step
  std::vector<i64> held_nonzeros;        // nonzero elements in the gradient leaves of one rank
  double elements = 0;                   // number of parameters of the model
};

double sum_over_ranks(Ranks& ranks, double share) {
  double sum = 0;
  for (const std::string& text : ranks.all_gather(fmt::format("{:a}", share)))
    sum += std::strtod(text.c_str(), nullptr);
  return sum;
}

i64 nonzeros_in_leaves(const PlannedStep& step, Interpreter& device) {
  i64 found = 0;
  for (const Parameter& p : step.parameters) {
    const Leaf& leaf = step.plan.leaf(gradient_name(p.name));
    std::vector<float> values(size_t(leaf.bytes) / sizeof(float));
    device.read(leaf, values.data());
    found += i64(values.size()) - std::ranges::count(values, 0.0f);
  }
  return found;
}

Norms train_rank(Ranks& ranks, const Options& options) {
  const auto backend = make_cpu_backend(&ranks);
  const Mesh mesh = step_spec(options).mesh;
  const Coord coord = mesh.coord(ranks.rank());
  const PlannedStep step = plan_step(step_spec(options, int(mesh.place(coord, groups::pipeline))), *backend);
  const auto device = backend->make_interpreter(step.plan, coord);
  ModelState model(step, *device, coord);
  model.initialise(7);
  Trainer trainer(step, *device, coord, options.optimizer, make_schedules(options));
  DataLoader loader(build_datasets(options.data, {.train = 4 * kSteps}).train,
                    rank_loader_config(options, mesh, coord, Split::train, 0));
  Norms out;
  out.elements = size_of(*step_spec(options).model).parameters();
  RunState state;
  for (int i = 0; i < kSteps; ++i) {
    trainer.start_step(loader, micro_batches(options), state);
    const StepResult r = trainer.finish_step(state);
    EXPECT_TRUE(r.counted);
    out.params.push_back(r.params_norm.value_or(-1)), out.nonzeros.push_back(r.nonzeros.value_or(-1));
    out.held.push_back(std::sqrt(sum_over_ranks(ranks, model.squares())));
    if (ranks.size() == 1) out.held_nonzeros.push_back(nonzeros_in_leaves(step, *device));
  }
  return out;
}

constexpr const char* kBoth = "--log-params-norm --log-num-zeros-in-grad ";

// The norms that each rank reports.
std::vector<Norms> train(int n, const std::string& flags) {
  const Options options = options_for(
      n, "--micro-batch-size 1 --global-batch-size 4 --lr-decay-style constant --num-workers 0 --disable-bias-linear " +
             flags);
  std::vector<Norms> out{size_t(n)};
  harness::run_ranks(n, [&](Ranks& ranks) { out[size_t(ranks.rank())] = train_rank(ranks, options); });
  return out;
}

void expect_held(const std::vector<Norms>& ranks, const std::string& flags) {
  for (const Norms& r : ranks)
    for (int i = 0; i < kSteps; ++i) {
      EXPECT_NEAR(r.params[size_t(i)], r.held[size_t(i)], 1e-12 * r.held[size_t(i)]) << flags;
      EXPECT_EQ(r.params[size_t(i)], ranks[0].params[size_t(i)]) << flags << ": all ranks know it";
    }
}

TEST(ModelNorms, AreThoseOfOneRanksLeaves) {
  for (const char* more : {"", "--untie-embeddings-and-output-weights", "--use-distributed-optimizer"}) {
    const Norms r = train(1, std::string(kBoth) + more)[0];
    expect_held({r}, more);
    EXPECT_GT(r.params[0], 1);
    EXPECT_NE(r.params[0], r.params[1]);
    for (int i = 0; i < kSteps; ++i) EXPECT_EQ(i64(r.nonzeros[size_t(i)]), r.held_nonzeros[size_t(i)]) << more;
    if (std::string(more).starts_with("--untie")) EXPECT_LT(r.nonzeros[0], r.elements) << "words that no sample has";
  }
}

TEST(ModelNorms, AreNotMadeUnasked) {
  const Norms r = train(1, "")[0];
  EXPECT_EQ(r.params, std::vector<double>(kSteps, -1));
  EXPECT_EQ(r.nonzeros, std::vector<double>(kSteps, -1));
}

// A parameter that several ranks hold counts once. Padding does not count.
TEST(ModelNorms, AreTheSameOnAnyRanks) {
  const std::string model = "--untie-embeddings-and-output-weights ", tied = "";
  for (const std::string& weights : {model, tied}) {
    const Norms want = train(1, kBoth + weights)[0];
    for (const char* layout :
         {"--tensor-model-parallel-size 2", "--tensor-model-parallel-size 2 --sequence-parallel",
          "--pipeline-model-parallel-size 2", "--pipeline-model-parallel-size 2 --overlap-grad-reduce",
          "--context-parallel-size 2", "", "--use-distributed-optimizer",
          "--use-distributed-optimizer --overlap-grad-reduce --overlap-param-gather"}) {
      const std::vector<Norms> ranks = train(2, kBoth + weights + layout);
      expect_held(ranks, layout);
      for (const Norms& r : ranks)
        for (int i = 0; i < kSteps; ++i) {
          EXPECT_NEAR(r.params[size_t(i)], want.params[size_t(i)], 1e-5 * want.params[0]) << layout;
          EXPECT_EQ(r.nonzeros[size_t(i)], want.nonzeros[size_t(i)]) << layout << " " << weights;
        }
    }
  }
}

TEST(ModelNorms, OfMainWeightsInTwoPartsOrOnTheHost) {
  for (const char* flags : {"--bf16", "--bf16 --optimizer-cpu-offload", "--fp16 --initial-loss-scale 128"})
    expect_held(train(1, std::string(kBoth) + flags), flags);
  for (const char* flags :
       {"--bf16 --use-distributed-optimizer", "--bf16 --use-distributed-optimizer --optimizer-cpu-offload",
        "--bf16 --pipeline-model-parallel-size 2"})
    expect_held(train(2, std::string(kBoth) + flags), flags);
}

TEST(ModelNorms, OfExperts) {
  const std::string experts = "--num-experts 4 --moe-router-topk 2 --swiglu ";
  const Norms want = train(1, kBoth + experts)[0];
  for (const char* layout :
       {"--expert-model-parallel-size 2", "--expert-model-parallel-size 2 --use-distributed-optimizer",
        "--tensor-model-parallel-size 2 --sequence-parallel --expert-model-parallel-size 2 "
        "--expert-tensor-parallel-size 1"}) {
    const std::vector<Norms> ranks = train(2, kBoth + experts + layout);
    expect_held(ranks, layout);
    EXPECT_NEAR(ranks[1].params[1], want.params[1], 1e-5 * want.params[1]) << layout;
  }
}

}  // namespace
}  // namespace megalith
