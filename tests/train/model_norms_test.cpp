// Compares the numbers that a step computes with the values that the ranks hold: the norms of parameters, those of the
// optimizer's states, and the number of zeros in gradients.
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
  // By suffix of the state, per step.
  std::map<std::string, std::vector<double>> states, held_states;
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

// This rank's share of the sum of squares of a state: each element counts on one rank.
double squares_of_leaves(const ModelState& model, const std::string& suffix) {
  double sum = 0;
  for (const StateTensor& t : model.tensors())
    for (const StatePiece& piece : t.suffix == suffix ? model.saved_pieces(t, false) : std::vector<StatePiece>()) {
      std::vector<float> values(size_t(count(piece.shape)));
      model.read(piece, 0, std::span(values));
      for (const float x : values) sum += double(x) * x;
    }
  return sum;
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
    for (const NamedValue& v : r.state_norms) {
      out.states[v.name].push_back(v.value);
      out.held_states[v.name].push_back(std::sqrt(sum_over_ranks(ranks, squares_of_leaves(model, v.name))));
    }
    if (ranks.size() == 1) out.held_nonzeros.push_back(nonzeros_in_leaves(step, *device));
  }
  return out;
}

constexpr const char* kBoth = "--log-params-norm --log-num-zeros-in-grad ";
constexpr const char* kStates = "--log-optimizer-states-to-tensorboard ";

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

void expect_held_states(const std::vector<Norms>& ranks, const std::vector<std::string>& names,
                        const std::string& flags) {
  for (const Norms& r : ranks) {
    ASSERT_EQ(r.states.size(), names.size()) << flags;
    for (const std::string& name : names)
      for (int i = 0; i < kSteps; ++i) {
        const double norm = r.states.at(name).at(size_t(i)), held = r.held_states.at(name).at(size_t(i));
        EXPECT_GT(norm, 0) << name << " " << flags;
        EXPECT_NEAR(norm, held, 1e-12 * held) << name << " " << flags;
        EXPECT_EQ(norm, ranks[0].states.at(name)[size_t(i)]) << flags << ": all ranks know it";
      }
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
  EXPECT_TRUE(r.states.empty());
}

// Under every layout the norms are the plain sums of what the ranks hold, and those of one rank.
TEST(ModelNorms, OfTheOptimizersStates) {
  const std::vector<std::string> adam = {"exp_avg", "exp_avg_sq"};
  const Norms want = train(1, kStates)[0];
  expect_held_states({want}, adam, "one rank");
  EXPECT_EQ(want.params, std::vector<double>(kSteps, -1)) << "the weights' norm has its own flag";
  for (const char* layout : {"--tensor-model-parallel-size 2 --sequence-parallel", "--pipeline-model-parallel-size 2",
                             "--context-parallel-size 2", "", "--use-distributed-optimizer",
                             "--use-distributed-optimizer --overlap-grad-reduce --overlap-param-gather"}) {
    const std::vector<Norms> ranks = train(2, std::string(kBoth) + kStates + layout);
    expect_held(ranks, layout);
    expect_held_states(ranks, adam, layout);
    for (const std::string& name : adam)
      for (size_t i = 0; i < kSteps; ++i)
        EXPECT_NEAR(ranks[0].states.at(name)[i], want.states.at(name)[i], 1e-4 * want.states.at(name)[i])
            << name << " " << layout;
  }
}

TEST(ModelNorms, OfOtherOptimizersStates) {
  expect_held_states(train(1, std::string(kStates) + "--optimizer sgd"), {"exp_avg"}, "sgd");
  const std::vector<std::string> all = {"momentum_buffer", "exp_avg", "exp_avg_sq"};
  const std::string muon = "--optimizer muon --position-embedding-type rope --untie-embeddings-and-output-weights ";
  const Norms want = train(1, kStates + muon)[0];
  expect_held_states({want}, all, muon);
  // The last stage has the output layer only, so no matrix of Muon's.
  for (const char* layout : {"--pipeline-model-parallel-size 2 --pipeline-model-parallel-layout Ett|L",
                             "--use-distributed-optimizer", "--tensor-model-parallel-size 2"}) {
    const std::vector<Norms> ranks = train(2, kStates + muon + layout);
    expect_held_states(ranks, all, muon + layout);
    for (const std::string& name : all)
      EXPECT_NEAR(ranks[1].states.at(name)[1], want.states.at(name)[1], 1e-3 * want.states.at(name)[1])
          << name << " " << layout;
  }
}

TEST(ModelNorms, OfStatesInBf16OrOnTheHost) {
  for (const char* flags : {"--bf16 --exp-avg-dtype bf16 --exp-avg-sq-dtype bf16 --use-precision-aware-optimizer",
                            "--bf16 --optimizer-cpu-offload"}) {
    const std::string more = std::string(kStates) + "--use-distributed-optimizer " + flags;
    expect_held_states(train(1, more), {"exp_avg", "exp_avg_sq"}, more);
    expect_held_states(train(2, more), {"exp_avg", "exp_avg_sq"}, more);
  }
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
