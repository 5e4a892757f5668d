// The state of delayed scaling: what a step's casts saw, and how scales follow from it.
#include "ops/delayed_scale.h"

#include "quant/delayed.h"
#include "tests/kernels/kernel_run.h"

namespace megalith::kernel_tests {

namespace {

Tensor numbers(const Shape& shape, const std::vector<double>& x) { return tensor(DType::f32, shape, x); }
Tensor scalars(double counts) { return tensor(DType::f64, {4}, {2.5, 1, 1, counts}); }

}  // namespace

TEST(CollectAmax, keeps_the_largest_of_a_step) {
  const CollectAmax op{{2, 0, 2}};
  const Tensor before = numbers({3}, {5, 6, 7});
  const std::vector<Tensor> ins = {before, numbers({1, 1}, {8}), numbers({}, {4}), numbers({1}, {9})};
  EXPECT_EQ(run_kernel(op, ins, {.first_micro_batch = false})[0].x, (std::vector<double>{5, 6, 9}));
  EXPECT_EQ(run_kernel(op, ins, {.first_micro_batch = true})[0].x, (std::vector<double>{4, 0, 9}));
}

// Ten steps of two layers, one of whose tensors is not cast in some, against the recipe's own function.
TEST(DelayedScale, follows_the_recipe) {
  constexpr i64 kSlots = 4;
  for (const bool largest : {false, true})
    for (const CodeFormat gradients : {CodeFormat::e4m3, CodeFormat::e5m2}) {
      const Tensor fresh = numbers({1 + kSlots, 3}, std::vector<double>(3 * (1 + kSlots), 0));
      std::vector<Tensor> states = {fresh, fresh};
      std::vector<float> history[6], scale(6, 0);
      for (auto& h : history) h.resize(kSlots);
      for (int step = 0; step < 10; ++step) {
        std::vector<double> seen(9);  // of a third layer too
        for (size_t i = 0; i < 9; ++i) seen[i] = step % 3 == 2 && i == 4 ? 0 : std::exp(normal(mix_all(step, i)));
        const Tensor amax = numbers({9}, seen);
        const DelayedScale op{2, largest, 1, gradients};
        states = run_kernel(op, {states[0], states[1], amax, scalars(1)});
        ASSERT_EQ(states.size(), 2u);
        for (size_t i = 0; i < 6; ++i) {
          const size_t t = i % 3;
          const quant::DelayedRule rule{t == 2 && gradients == CodeFormat::e5m2 ? quant::Fp8::e5m2 : quant::Fp8::e4m3,
                                        largest ? quant::AmaxAlgorithm::max : quant::AmaxAlgorithm::most_recent, 1};
          const float latest = float(amax.x[i]);
          quant::update_delayed(rule, std::span(&latest, 1), {history[i], kSlots, 1}, std::span(&scale[i], 1));
          const std::vector<double>& state = states[i / 3].x;
          EXPECT_EQ(float(state[t]), scale[i]) << step;
          for (size_t s = 0; s < kSlots; ++s) EXPECT_EQ(float(state[3 + 3 * s + t]), history[i][s]) << step;
        }
      }
    }
}

// A frozen layer, an expert without tokens: whatever was remembered of it stays, however long that lasts.
TEST(DelayedScale, stays_where_nothing_was_cast) {
  const Tensor state = numbers({3, 3}, {1, 2, 3, 4, 5, 6, 7, 8, 9});
  for (const bool largest : {false, true}) {
    Tensor now = state;
    for (int step = 0; step < 1000; ++step)
      now = run_kernel(DelayedScale{.largest = largest}, {now, numbers({3}, {0, 0, 11}), scalars(1)})[0];
    for (size_t i = 0; i < 9; ++i) EXPECT_EQ(now.x[i], i % 3 == 2 ? now.x[i] : state.x[i]) << i;
    EXPECT_EQ(now.x[8], 11);  // dy was cast
  }
}

TEST(DelayedScale, stays_where_the_step_does_not_count) {
  const Tensor state = numbers({3, 3}, {1, 2, 3, 4, 5, 6, 7, 8, 9}), amax = numbers({3}, {10, 20, INFINITY});
  EXPECT_EQ(run_kernel(DelayedScale{}, {state, amax, scalars(0)})[0].x, state.x);
}

}  // namespace megalith::kernel_tests
