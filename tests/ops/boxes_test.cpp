// Boxes under layouts: the numbers that a rank makes, and boxes that several ranks share.
#include "ops/boxes.h"

#include <gtest/gtest.h>

#include "ops/quantize.h"

namespace megalith {

namespace {

const Mesh kMesh = make_mesh({2, 2, 2, 1});  // dp, cp, tp_kv

Type typed(const Shape& shape, const std::vector<AxisList>& dims, AxisSet copy = {}) {
  return {DType::bf16, shape, {dims, {}, copy, {}}};
}

const AxisList kContext = {{groups::context, Order::zigzag}}, kData = {{groups::data}}, kTensor = {{groups::tensor}};

}  // namespace

TEST(Boxes, lie_as_what_is_cut_into_them) {
  const Type x = typed({512, 4, 256}, {kContext, kData, kTensor});
  const Type rows = grid_of(kMesh, x, {1, 1, 128});
  EXPECT_EQ(rows.shape, (Shape{512, 4, 2}));
  EXPECT_EQ(rows.layout, x.layout);
  EXPECT_EQ(rows.dtype, DType::f32);
  EXPECT_EQ(grid_of(kMesh, x, {128, 1, 1}).shape, (Shape{4, 4, 256}));
  const Type gathered = typed({512, 4, 192}, {kContext, kData, {}}, groups::tensor);
  EXPECT_EQ(grid_of(kMesh, gathered, {1, 1, 128}).shape, (Shape{512, 4, 2}));  // the last is shorter
  EXPECT_EQ(grid_of(kMesh, gathered, {1, 1, 128}).layout.copy, AxisSet(groups::tensor));
}

TEST(Boxes, that_several_ranks_hold_are_refused) {
  const Type x = typed({256, 4, 192}, {kContext, kData, kTensor});
  EXPECT_THROW(grid_of(kMesh, x, {1, 1, 128}), Error);  // runs of 96
  EXPECT_THROW(grid_of(kMesh, x, {128, 1, 1}), Error);  // chunks of 64
  EXPECT_NO_THROW(grid_of(kMesh, x, {64, 1, 96}));
  EXPECT_THROW(grid_of(kMesh, x, {256, 4, 192}), Error);
  Type sum = x;
  sum.layout.dims[2] = {}, sum.layout.partial = groups::tensor;
  EXPECT_THROW(grid_of(kMesh, sum, {1, 1, 64}), Error);
}

// One number for all that a data-parallel rank has: the largest of the ranks of tp and cp.
TEST(Boxes, of_a_tensor_are_those_of_a_data_parallel_rank) {
  const Type x = typed({256, 4, 192}, {kContext, kData, kTensor});
  EXPECT_EQ(tensor_box(kMesh, x), (Shape{256, 2, 192}));
  const Type amax = grid_of(kMesh, x, tensor_box(kMesh, x), true);
  EXPECT_EQ(amax.shape, (Shape{1, 2, 1}));
  EXPECT_EQ(amax.layout.max, kMesh.used({groups::context, groups::tensor}));
  EXPECT_EQ(amax.layout.dims[1], kData);
  EXPECT_TRUE(amax.layout.dims[0].empty() && amax.layout.dims[2].empty());
}

TEST(Boxes, hold_whole_heads_and_parts_of_wide_ones) {
  EXPECT_EQ(row_box({4, 2, 64}, {0, 1, 2}, 128), (Shape{1, 2, 64}));
  EXPECT_EQ(row_box({4, 1, 64}, {0, 1, 2}, 128), (Shape{2, 1, 64}));
  EXPECT_EQ(row_box({4, 1, 96}, {0, 1, 2}, 128), (Shape{1, 1, 96}));
  EXPECT_EQ(row_box({4, 1, 192}, {0, 1, 2}, 128), (Shape{1, 1, 128}));
  EXPECT_EQ(row_box({9, 2, 300}, {0}, 32), (Shape{9, 1, 1}));
}

TEST(RotateTokens, needs_its_tokens_on_one_rank) {
  const auto infer = [](const Type& x) { return AnyOp(RotateTokens{}).infer({kMesh, {x}, {false}}); };
  EXPECT_NO_THROW(infer(typed({64, 4, 8}, {kContext, kData, {}})));
  EXPECT_THROW(infer(typed({32, 4, 8}, {kContext, kData, {}})), Error);
}

}  // namespace megalith
