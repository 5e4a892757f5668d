// Which boxes go by tiles, as which matrices, and what room the others need.
#include "exec/cuda_needs/code_tiles.h"

#include <gtest/gtest.h>

#include "exec/cuda_needs/local_node.h"
#include "ops/quantize.h"

namespace megalith::cuda {

namespace {

struct Sizes {
  std::optional<CodeTiles> tiles;
  i64 workspace;
};

Sizes sizes_of(const Shape& shape, const Shape& box, CodeOrders orders = CodeOrders::as_is, int split = 0,
               DType dtype = DType::bf16, Scaling scaling = Scaling::power_of_two, bool by_sequence = false) {
  const Mesh mesh = make_mesh({});
  Quantize op{.scaling = scaling, .box = box, .orders = orders, .split = split};
  op.by_sequence = by_sequence;
  std::vector<Type> ins = {{dtype, shape, whole(shape.size())}};
  if (reads_amax(scaling)) ins.push_back({DType::f32, Shape(shape.size(), 1), whole(shape.size())});
  const std::vector<Type> outs = op.infer({mesh, ins, std::vector<bool>(ins.size(), false)});
  const LocalNode node{mesh, {}, ins, outs, {}};
  return {code_tiles(op, node), quantize_workspace(op, node)};
}

void expect_tiles(const Sizes& got, const CodeTiles& want) {
  ASSERT_TRUE(got.tiles);
  const CodeTiles& t = *got.tiles;
  EXPECT_EQ((Shape{t.outer, t.rows, t.columns, t.box_rows, t.box_columns}),
            (Shape{want.outer, want.rows, want.columns, want.box_rows, want.box_columns}));
  EXPECT_EQ(t.mixed, want.mixed);
  EXPECT_EQ(got.workspace, 0);
}

}  // namespace

TEST(CodeTiles, see_dims_that_boxes_cut_alike_as_one) {
  expect_tiles(sizes_of({24, 2, 4096}, {1, 1, 128}), {1, 48, 4096, 1, 128});
  expect_tiles(sizes_of({256, 2, 24}, {128, 1, 1}), {1, 256, 48, 128, 1});
  expect_tiles(sizes_of({24, 2, 6, 64}, {1, 1, 2, 64}), {1, 48, 384, 1, 128});
  expect_tiles(sizes_of({24, 2, 5, 80}, {1, 1, 1, 80}), {1, 240, 80, 1, 128});
  expect_tiles(sizes_of({2, 80, 192}, {1, 80, 128}), {2, 80, 192, 128, 128});
  expect_tiles(sizes_of({64, 2, 64}, {1, 1, 32}, CodeOrders::both, 2, DType::f32, Scaling::mx), {1, 128, 64, 1, 32});
}

// Columns of the weight behind attention are groups of heads.
TEST(CodeTiles, see_groups_of_heads_as_columns) {
  expect_tiles(sizes_of({256, 8, 4, 128}, {128, 1, 1, 128}, CodeOrders::both, 1), {1, 256, 4096, 128, 128});
  expect_tiles(sizes_of({256, 8, 4, 64}, {128, 1, 2, 64}, CodeOrders::both, 1), {1, 256, 2048, 128, 128});
  EXPECT_FALSE(sizes_of({256, 8, 80}, {128, 1, 80}, CodeOrders::both, 1).tiles);  // 80 does not divide a tile
}

// Rows of the matrices of sequences lie between each other.
TEST(CodeTiles, have_a_matrix_for_each_sequence) {
  const auto of = [](const Shape& shape, const Shape& box) {
    return sizes_of(shape, box, CodeOrders::transposed, 2, DType::bf16, Scaling::power_of_two, true);
  };
  expect_tiles(of({256, 2, 24}, {128, 1, 1}), {2, 256, 24, 128, 1, true});
  expect_tiles(of({256, 3, 4, 64}, {128, 1, 1, 1}), {3, 256, 256, 128, 1, true});
  expect_tiles(of({256, 1, 24}, {128, 1, 1}), {1, 256, 24, 128, 1, false});
  EXPECT_FALSE(of({200, 2, 24}, {128, 1, 1}).tiles);
  EXPECT_FALSE(of({256, 2, 20}, {128, 1, 1}).tiles);
}

TEST(CodeTiles, leave_out_what_makes_no_words) {
  for (const Sizes& s : {sizes_of({24, 77}, {1, 128}), sizes_of({24, 96}, {1, 48}), sizes_of({24, 80}, {8, 1}),
                         sizes_of({24, 256}, {1, 128}, CodeOrders::transposed, 1),
                         sizes_of({32, 2, 5, 80}, {1, 1, 1, 80}, CodeOrders::transposed, 2),
                         sizes_of({32, 256}, {1, 128}, CodeOrders::as_is, 0, DType::f64)}) {
    EXPECT_FALSE(s.tiles);
    EXPECT_GT(s.workspace, 0);
  }
  EXPECT_EQ(sizes_of({24, 77}, {1, 128}).workspace, 24 * 4);
  const Sizes tensor = sizes_of({32, 256}, {32, 256}, CodeOrders::both, 1, DType::bf16, Scaling::quotient);
  EXPECT_FALSE(tensor.tiles);
  EXPECT_EQ(tensor.workspace, 0);
}

}  // namespace megalith::cuda
