// Which CodedResult ops have a kernel, by which tiles, and that they need no workspace.
#include "exec/cuda_needs/coded_tiles.h"

#include <gtest/gtest.h>

#include "exec/cuda_needs/local_node.h"
#include "ops/coded_result.h"
#include "ops/rms_norm.h"
#include "ops/swiglu.h"

namespace megalith::cuda {

namespace {

Type type_of(const Shape& shape, DType dtype = DType::bf16) { return {dtype, shape, whole(shape.size())}; }

Quantize kept(const Shape& shape) {
  Quantize op{.scaling = Scaling::kept, .box = shape, .at = 1, .orders = CodeOrders::both, .split = 2};
  op.gives_amax = true;
  return op;
}
Quantize features(const Shape& box) { return {.scaling = Scaling::power_of_two, .box = box}; }
Quantize tokens(const Shape& shape) {
  Quantize op{.scaling = Scaling::power_of_two, .box = Shape(shape.size(), 1)};
  op.box[0] = 128, op.orders = CodeOrders::transposed, op.split = 2, op.by_sequence = true;
  return op;
}

// values: the type of what is cast. ins: of the op.
std::optional<CodedTiles> tiles_of(const std::optional<AnyOp>& op, const Type& values, std::vector<Type> ins,
                                   const std::vector<Quantize>& casts) {
  const Mesh mesh = make_mesh({});
  if (casts[0].scaling == Scaling::kept) ins.push_back(type_of({3}, DType::f32));
  const CodedResult coded{op, values, casts};
  const std::vector<Type> outs = coded.infer({mesh, ins, std::vector<bool>(ins.size())});
  return coded_tiles(coded, {mesh, {}, ins, outs, {}});
}
std::optional<CodedTiles> of_swiglu(i64 s, i64 f, DType dtype = DType::bf16, const Swiglu& op = {}) {
  return tiles_of(op, type_of({s, 2, f}, dtype), {type_of({s, 2, 2, f}, dtype)}, {kept({s, 2, f})});
}
std::optional<CodedTiles> of_gradient(const SwigluGrad& op) {
  return tiles_of(op, type_of({64, 2, 2, 128}), {type_of({64, 2, 128}), type_of({64, 2, 2, 128})},
                  {kept({64, 2, 2, 128})});
}
std::optional<CodedTiles> of_norm(DType weight) {
  return tiles_of(RmsNorm{}, type_of({64, 2, 128}), {type_of({64, 2, 128}), type_of({128}, weight)},
                  {kept({64, 2, 128})});
}
std::optional<CodedTiles> of_blocks(const Shape& shape, const Shape& box) {
  return tiles_of({}, type_of(shape), {type_of(shape)}, {features(box), tokens(shape)});
}

void expect_tiles(const std::optional<CodedTiles>& got, const CodedTiles& want) {
  ASSERT_TRUE(got);
  EXPECT_EQ(got->by, want.by);
  EXPECT_EQ((Shape{got->sequences, got->rows, got->columns, got->tensor, got->features, got->tokens}),
            (Shape{want.sequences, want.rows, want.columns, want.tensor, want.features, want.tokens}));
}

}  // namespace

TEST(CodedTiles, see_the_tokens_of_all_sequences_for_one_scale) {
  expect_tiles(of_swiglu(64, 136), {.by = ValuesBy::gated, .rows = 128, .columns = 136, .tensor = 0});
  expect_tiles(of_gradient({}), {.by = ValuesBy::gated_grad, .rows = 128, .columns = 128, .tensor = 0});
  expect_tiles(of_norm(DType::bf16), {.by = ValuesBy::normed, .rows = 128, .columns = 128, .tensor = 0});
}

TEST(CodedTiles, have_rows_of_one_sequence_for_blocks_of_tokens) {
  expect_tiles(of_blocks({256, 2, 384}, {1, 1, 128}),
               {.sequences = 2, .rows = 256, .columns = 384, .features = 0, .tokens = 1});
  expect_tiles(of_blocks({256, 2, 6, 64}, {1, 1, 2, 64}),
               {.sequences = 2, .rows = 256, .columns = 384, .features = 0, .tokens = 1});
  expect_tiles(of_blocks({256, 2, 3, 128}, {1, 1, 1, 128}),
               {.sequences = 2, .rows = 256, .columns = 384, .features = 0, .tokens = 1});
  const auto both =
      tiles_of(SwigluGrad{}, type_of({256, 2, 2, 384}), {type_of({256, 2, 384}), type_of({256, 2, 2, 384})},
               {features({1, 1, 1, 128}), tokens({256, 2, 2, 384})});
  expect_tiles(both,
               {.by = ValuesBy::gated_grad, .sequences = 2, .rows = 256, .columns = 384, .features = 0, .tokens = 1});
}

TEST(CodedTiles, leave_other_sizes_types_and_forms_to_separate_kernels) {
  EXPECT_FALSE(of_swiglu(64, 132));  // rows are no whole words
  EXPECT_FALSE(of_swiglu(60, 136));  // columns of the transpose neither
  EXPECT_FALSE(of_swiglu(64, 136, DType::f32));
  EXPECT_FALSE(of_gradient({.with_output = true}));
  EXPECT_FALSE(of_norm(DType::f32));
  EXPECT_FALSE(of_blocks({256, 2, 2, 192}, {1, 1, 1, 64}));  // a block of 128 would straddle heads
  EXPECT_FALSE(of_blocks({256, 2, 384}, {1, 1, 32}));
  EXPECT_FALSE(
      tiles_of({}, type_of({256, 2, 384}), {type_of({256, 2, 384})}, {features({1, 1, 128}), features({1, 1, 128})}));
}

}  // namespace megalith::cuda
