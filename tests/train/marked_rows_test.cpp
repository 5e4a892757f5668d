// Tests the pass mark-rows on the gradient of an untied embedding table. Only rows of a step's tokens are written and
// read. Training must have the same bits.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>

#include "base/rng.h"
#include "exec/cpu/backend.h"
#include "ops/embedding.h"
#include "ops/update.h"
#include "optim/update.h"
#include "passes/gradients.h"
#include "settings/schedules.h"
#include "small_run.h"
#include "step/model_state.h"

namespace megalith {
namespace {

constexpr const char* kUntied = "--position-embedding-type rope --untie-embeddings-and-output-weights ";

// The number of nonzero elements in the gradient leaves.
i64 nonzeros_of(const PlannedStep& step, Interpreter& interpreter) {
  i64 found = 0;
  for (const Parameter& p : step.parameters) {
    const Leaf& leaf = step.plan.leaf(gradient_name(p.name));
    std::vector<float> values(size_t(leaf.bytes) / sizeof(float));
    interpreter.read(leaf, values.data());
    found += i64(values.size()) - std::ranges::count(values, 0.0f);
  }
  return found;
}

struct Ran {
  bool marked = false;
  std::vector<u32> weights;   // all bits after the last step
  std::vector<i64> held;      // nonzero elements of the gradient leaves
  std::vector<i64> nonzeros;  // logged number of nonzero elements per step, if counted
};

// Runs four steps of three micro-batches with different tokens.
Ran run_steps(const std::string& flags, bool pass) {
  const auto backend = make_cpu_backend();
  StepSpec spec = step_spec(options_for(1, kUntied + flags));
  if (!pass) spec.passes_off.insert("mark-rows");
  const PlannedStep step = plan_step(spec, *backend);
  Ran out;
  for (const Node& n : step.graphs.front().nodes)
    if (const auto* op = n.op.get_if<EmbeddingGrad>()) out.marked |= op->marks;
  const auto interpreter = backend->make_interpreter(step.plan, Coord{});
  ModelState model(step, *interpreter);
  model.initialise(3);
  const auto program = [&](const char* name) { return int(&step.plan.program(name) - step.plan.programs.data()); };
  const i64 n = spec.mode.batch * 32;
  const std::vector<float> ones(size_t(n), 1);
  std::vector<i32> ids(static_cast<size_t>(n));
  constexpr int kSteps = 4, kMicroBatches = 3;
  for (int i = 0; i < kSteps; ++i) {
    const double h[4] = {1e-2, 0.1, 1 - std::pow(0.9, i + 1), 1 - std::pow(0.999, i + 1)};
    interpreter->write(*step.plan.find_leaf("step_scalars_in"), h);
    interpreter->write(*step.plan.find_leaf("loss_mask"), ones.data());
    for (int k = 0; k < kMicroBatches; ++k) {
      for (const char* leaf : {"tokens", "labels"}) {
        for (size_t t = 0; t < ids.size(); ++t) ids[t] = i32(mix_all(hash_name(leaf), i * kMicroBatches + k, t) % 101);
        interpreter->write(*step.plan.find_leaf(leaf), ids.data());
      }
      interpreter->run(program(k + 1 < kMicroBatches ? "micro-batch" : "last-micro-batch"), k == 0, 0);
    }
    const int last = program("last-micro-batch");
    if (spec.counts_nonzeros) out.nonzeros.push_back(i64(interpreter->scalars(last, kNonzeros)[0]));
    out.held.push_back(nonzeros_of(step, *interpreter));
  }
  for (const StateTensor& t : model.tensors())
    for (const StatePiece& p : t.is_weight ? model.pieces(t) : std::vector<StatePiece>()) {
      std::vector<float> values(size_t(count(p.shape)));
      model.read(p, 0, values);
      for (const float x : values) out.weights.push_back(std::bit_cast<u32>(x));
    }
  return out;
}

}  // namespace

TEST(MarkedRows, ChangeNoBit) {
  struct Case {
    const char* flags;
    bool marked;
  };
  for (const auto& [flags, marked] : {Case{"", true}, Case{"--bf16", true}, Case{"--optimizer sgd", true},
                                      Case{"--bf16 --optimizer-cpu-offload", false},
                                      Case{"--optimizer-cpu-offload --optimizer-offload-fraction 0", true}}) {
    const Ran with = run_steps(flags, true), without = run_steps(flags, false);
    EXPECT_EQ(with.marked, marked) << flags;
    EXPECT_FALSE(without.marked);
    EXPECT_EQ(with.weights, without.weights) << flags;
    EXPECT_GT(with.weights.size(), 10000u);
  }
}

// If a run counts zeros in gradients, it reads whole gradients.
TEST(MarkedRows, AreNotWhereZerosAreCounted) {
  const Ran counted = run_steps("--log-num-zeros-in-grad", true), want = run_steps("", false);
  EXPECT_FALSE(counted.marked);
  EXPECT_EQ(counted.nonzeros, want.held);
  EXPECT_GT(want.held[0], 1000);
  EXPECT_NE(run_steps("", true).held, want.held);
}

}  // namespace megalith
