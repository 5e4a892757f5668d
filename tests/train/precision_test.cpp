// The recipe that the flags make, and what it says of itself.
#include "settings/precision.h"

#include <gtest/gtest.h>

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

TEST(PrecisionRecipe, has_a_part_for_each_flag) {
  Precision p = computing_in(DType::bf16);
  p.residual = DType::f32;
  EXPECT_EQ(recipe("--bf16 --fp32-residual-connection"), p);
  p.gradient_communication = DType::bf16;
  EXPECT_EQ(recipe("--bf16 --fp32-residual-connection --grad-reduce-in-bf16"), p);
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
