// Tests of the precision that the flags select, and of its text in the log.
#include "settings/precision.h"

#include <gtest/gtest.h>

#include "memory_machine.h"
#include "options_helpers.h"

namespace megalith {
namespace {

Precision recipe(const std::string& flags) {
  return precision_of(options_of(std::string(kSmallRun) + "--vocab-size 64 " + flags));
}

TEST(PrecisionRecipe, is_f32_or_with_bf16_the_model_alone_is_bf16) {
  EXPECT_EQ(recipe(""), Precision{});
  const Precision p = recipe("--bf16");
  EXPECT_EQ(p, computing_in(DType::bf16));
  for (const DType part : {p.activations, p.products, p.parameters, p.residual}) EXPECT_EQ(part, DType::bf16);
  for (const DType part : {p.main_parameters, p.gradients, p.gradient_communication, p.state("exp_avg")})
    EXPECT_EQ(part, DType::f32);
}

TEST(PrecisionRecipe, has_f16_in_the_place_of_bf16) {
  EXPECT_EQ(recipe("--fp16"), computing_in(DType::f16));
  Precision p = computing_in(DType::f16);
  p.residual = DType::f32;
  EXPECT_EQ(recipe("--fp16 --fp32-residual-connection"), p);
}

TEST(PrecisionRecipe, has_a_part_for_each_flag) {
  Precision p = computing_in(DType::bf16);
  p.residual = DType::f32;
  EXPECT_EQ(recipe("--bf16 --fp32-residual-connection"), p);
  p.gradient_communication = DType::bf16;
  EXPECT_EQ(recipe("--bf16 --fp32-residual-connection --grad-reduce-in-bf16"), p);
}

TEST(PrecisionRecipe, keeps_moments_and_gradients_as_they_are_asked_for) {
  Precision p;
  p.states = {{"exp_avg", DType::bf16}, {"exp_avg_sq", DType::f32}};
  EXPECT_EQ(recipe("--exp-avg-dtype bf16"), p);
  p.states["exp_avg_sq"] = DType::bf16;
  EXPECT_EQ(recipe("--exp-avg-dtype bf16 --exp-avg-sq-dtype bf16 --use-precision-aware-optimizer"), p);
  EXPECT_EQ(recipe("--exp-avg-dtype fp32 --exp-avg-sq-dtype fp32 --main-grads-dtype fp32"), Precision{});
  p = computing_in(DType::bf16), p.gradients = p.gradient_communication = DType::bf16;
  EXPECT_EQ(recipe("--bf16 --main-grads-dtype bf16"), p);
}

// The bytes of the leaves of a role in a plan, without padding.
i64 bytes_of(const PlannedStep& step, Role role) {
  i64 sum = 0;
  for (const Leaf& leaf : step.plan.leaves)
    if (leaf.role == role) sum += leaf.type.bytes();
  return sum;
}

// Each 2-byte type saves 2 bytes per parameter. In a plan each leaf begins at a multiple of 256 bytes.
TEST(PrecisionRecipe, takes_the_bytes_that_it_says) {
  const auto planned = [](const std::string& flags) {
    return plan_step(step_spec(options_of(std::string(kSmallRun) + "--vocab-size 64 --bf16 " + flags)), Memory());
  };
  const std::string both = "--exp-avg-dtype bf16 --exp-avg-sq-dtype bf16 ";
  for (const std::string optimizer : {"adam", "sgd", "lion", "muon"}) {
    const std::string chosen = "--optimizer " + optimizer + " ";
    const PlannedStep wide = planned(chosen), narrow = planned(chosen + both),
                      sums = planned(chosen + both + "--main-grads-dtype bf16");
    EXPECT_EQ(2 * bytes_of(narrow, Role::optimizer), bytes_of(wide, Role::optimizer)) << optimizer;
    EXPECT_EQ(bytes_of(narrow, Role::gradient), bytes_of(wide, Role::gradient)) << optimizer;
    EXPECT_EQ(2 * bytes_of(sums, Role::gradient), bytes_of(wide, Role::gradient)) << optimizer;
    EXPECT_EQ(bytes_of(sums, Role::main_parameter), bytes_of(wide, Role::main_parameter)) << optimizer;
  }
  const PlannedStep wide = planned(""), narrow = planned(both);
  const auto places = [](const PlannedStep& s) { return s.plan.bytes(Role::optimizer); };
  EXPECT_EQ(wide.plan.arena_bytes - narrow.plan.arena_bytes, places(wide) - places(narrow));
}

// The minimum memory of a rank depends on the stored types.
TEST(PrecisionRecipe, is_known_where_memory_is_counted_before_planning) {
  const auto refused = [](const std::string& flags, i64 memory) -> std::string {
    Memory machine;
    machine.memory = memory;
    try {
      check_sizes(options_of(std::string(kSmallRun) + "--vocab-size 64 --bf16 --seq-length 1 " + flags), machine);
    } catch (const Error& e) {
      return e.what();
    }
    return "";
  };
  const auto least = [&](const std::string& flags) {  // bytes of weights, gradients and state
    i64 low = 0, high = i64{1} << 30;
    while (high - low > 1) (refused(flags, (low + high) / 2).starts_with("weights") ? low : high) = (low + high) / 2;
    return high;
  };
  const i64 wide = least(""), parameters = wide / 16;  // 2 + 2 bytes of weights, 4 of gradients, 8 of moments
  EXPECT_EQ(wide, 16 * parameters);
  EXPECT_EQ(least("--exp-avg-dtype bf16"), 14 * parameters);
  EXPECT_EQ(least("--exp-avg-dtype bf16 --exp-avg-sq-dtype bf16 --main-grads-dtype bf16"), 10 * parameters);
}

// Experts and dense weights are divided among different ranks. The memory check before planning must accept such a plan
// if it fits.
TEST(PrecisionRecipe, what_is_counted_before_planning_is_what_ranks_hold_of_experts) {
  for (const char* layout :
       {"", "--expert-model-parallel-size 8 ", "--expert-model-parallel-size 4 --use-distributed-optimizer ",
        "--tensor-model-parallel-size 2 --sequence-parallel --expert-model-parallel-size 4 ",
        "--tensor-model-parallel-size 2 --sequence-parallel --expert-model-parallel-size 4 "
        "--expert-tensor-parallel-size 1 --use-distributed-optimizer "}) {
    Options o = read_line(std::string(kSmallRun) + "--vocab-size 64 --bf16 --seq-length 2 --num-experts 16 " + layout);
    o.parallel.world_size = 8;
    finish_options(o);
    Memory machine;
    const Plan plan = plan_step(step_spec(o), machine).plan;
    for (const Role role : {Role::parameter, Role::main_parameter, Role::gradient, Role::optimizer})
      machine.memory += plan.bytes(role);
    EXPECT_NO_THROW(check_sizes(o, machine)) << layout;
    machine.memory = machine.memory * 3 / 4;
    EXPECT_THROW(check_sizes(o, machine), Error) << layout;
  }
}

TEST(PrecisionRecipe, says_itself_in_one_line) {
  Precision p = computing_in(DType::bf16);
  EXPECT_EQ(to_string(p),
            "bf16: activations, products, residual stream, weights; f32: main weights, gradients, sums over ranks, "
            "optimizer state");
  p.states["exp_avg"] = DType::bf16, p.states["exp_avg_sq"] = DType::f32;
  EXPECT_TRUE(to_string(p).ends_with(", weights, exp_avg; f32: main weights, gradients, sums over ranks, exp_avg_sq"));
  EXPECT_TRUE(to_string(Precision{}).starts_with("f32: activations, ")) << to_string(Precision{});
}

}  // namespace
}  // namespace megalith
