// How a GPU would compute products of codes: which of them the library takes, and in which order it reads scales.
#include "exec/cuda_needs/code_product.h"

#include <gtest/gtest.h>

namespace megalith::cuda {

namespace {

struct Product {
  QuantizedProduct op;
  Shape x, w, y;  // as the product reads them
  Shape x_grid, w_grid;
};

LocalNode node_of(const Product& p, const Mesh& mesh) {
  const auto type = [](DType t, const Shape& s) { return Type{t, s, whole(s.size())}; };
  return {mesh,
          {},
          {type(dtype_of_codes(p.op.x_format), p.x), type(DType::f32, p.x_grid),
           type(dtype_of_codes(p.op.w_format), p.w), type(DType::f32, p.w_grid)},
          {type(p.op.dtype, p.y)},
          {}};
}

QuantizedProduct op_of(const std::string& spec, DType to, const Shape& x_box, const Shape& w_box, int x_split = 0,
                       int w_split = 0) {
  QuantizedProduct op{spec, to, CodeFormat::e4m3, CodeFormat::e4m3, x_box, w_box};
  op.x_split = x_split, op.w_split = w_split;
  return op;
}

const Mesh kOne = make_mesh({});

}  // namespace

TEST(CodeProduct, is_the_librarys_with_one_scale_an_operand) {
  const Product forward{
      op_of("sbh,fh->sbf", DType::bf16, {32, 2, 64}, {96, 64}), {32, 2, 64}, {96, 64}, {32, 2, 96}, {1, 1, 1}, {1, 1}};
  const LocalNode node = node_of(forward, kOne);
  ASSERT_TRUE(has_two_scales(forward.op, node));
  const auto product = code_product(forward.op, node);
  ASSERT_TRUE(product);
  EXPECT_EQ(to_string(product->problem), "64x96x64 a f8_e4m3 64:1 b f8_e4m3 1:64 y bf16 96:1");
  Product fast = forward;
  fast.op.fast = true;
  EXPECT_EQ(to_string(code_product(fast.op, node)->problem), to_string(product->problem) + " fast");
}

TEST(CodeProduct, is_refused_where_sums_do_not_run_over_last_dims_of_16) {
  const Product first{op_of("sbf,sbh->fh", DType::f32, {32, 2, 96}, {32, 2, 64}),
                      {32, 2, 96},
                      {32, 2, 64},
                      {96, 64},
                      {1, 1, 1},
                      {1, 1, 1}},
      odd{op_of("fsb,hsb->fh", DType::f32, {3, 2, 96}, {3, 2, 64}, 2, 2),
          {96, 3, 2},
          {64, 3, 2},
          {96, 64},
          {1, 1, 1},
          {1, 1, 1}};
  EXPECT_THROW(code_product(first.op, node_of(first, kOne)), Error);
  EXPECT_THROW(code_product(odd.op, node_of(odd, kOne)), Error);
  Product wide = odd;
  wide.x = {96, 8, 2}, wide.w = {64, 8, 2};
  EXPECT_TRUE(code_product(wide.op, node_of(wide, kOne)));
  wide.op.x_format = wide.op.w_format = CodeFormat::e5m2;  // what no tensor core multiplies
  EXPECT_THROW(code_product(wide.op, node_of(wide, kOne)), Error);
}

// Of x rows of blocks, which the library reads block by block; of w squares, as they are or transposed.
TEST(CodeProduct, knows_where_the_scales_of_blocks_lie) {
  const Product forward{op_of("sbh,nfh->sbnf", DType::bf16, {1, 1, 128}, {2, 64, 128}),
                        {9, 2, 384},
                        {4, 64, 384},
                        {9, 2, 4, 64},
                        {9, 2, 3},
                        {2, 1, 3}};
  const auto y = block_product(forward.op, node_of(forward, kOne));
  ASSERT_TRUE(y);
  EXPECT_EQ(y->problem.a_scales, CodeScales::rows);
  EXPECT_EQ(y->problem.b_scales, CodeScales::squares);
  const auto expect = [](const ScaleOrder& o, const ScaleOrder& want) {
    EXPECT_EQ((std::vector{o.rows, o.columns, o.pitch, o.row_stride, o.column_stride}),
              (std::vector{want.rows, want.columns, want.pitch, want.row_stride, want.column_stride}));
  };
  expect(y->x, {3, 18, 20, 1, 3});
  expect(y->w, {2, 3, 4, 3, 1});
  const Product data{op_of("sbnf,hnf->sbh", DType::bf16, {1, 1, 2, 64}, {2, 64, 128}, 0, 2),
                     {9, 2, 4, 64},
                     {384, 4, 64},
                     {9, 2, 384},
                     {9, 2, 2, 1},
                     {2, 1, 3}};
  const auto dx = block_product(data.op, node_of(data, kOne));
  ASSERT_TRUE(dx);
  expect(dx->x, {2, 18, 20, 1, 2});
  expect(dx->w, {3, 2, 4, 1, 3});
  const Product weight{op_of("fsb,hsb->fh", DType::f32, {128, 1, 1}, {128, 1, 1}, 2, 2),
                       {96, 256, 1},
                       {64, 256, 1},
                       {96, 64},
                       {2, 1, 96},
                       {2, 1, 64}};
  const auto dw = block_product(weight.op, node_of(weight, kOne));
  ASSERT_TRUE(dw);
  expect(dw->x, {2, 96, 96, 96, 1});
  EXPECT_TRUE(dw->x.is_there() && dw->w.is_there());
}

// Of two sequences whose tokens are neighbours: their blocks stand behind one another, their scales side by side.
TEST(CodeProduct, sums_over_sequences_as_one) {
  Product weight{op_of("fbs,hbs->fh", DType::f32, {128, 1, 1}, {128, 1, 1}, 2, 2),
                 {96, 2, 256},
                 {64, 2, 256},
                 {96, 64},
                 {2, 2, 96},
                 {2, 2, 64}};
  weight.op.by_sequence = true;
  const auto dw = block_product(weight.op, node_of(weight, kOne));
  ASSERT_TRUE(dw);
  EXPECT_EQ(to_string(dw->problem), "96x64x512 a f8_e4m3 512:1 b f8_e4m3 1:512 y f32 64:1 scales rows rows");
  const ScaleOrder& o = dw->x;
  EXPECT_EQ((std::vector{o.rows, o.columns, o.pitch, o.row_stride, o.column_stride, o.parts, o.part_stride}),
            (std::vector<i64>{4, 96, 96, 192, 1, 2, 96}));
  EXPECT_FALSE(o.is_there());
}

// The library has no blocks of tokens of two sequences, of other sizes, or that end with a head.
TEST(CodeProduct, leaves_other_boxes_to_values) {
  const Product two{op_of("fsb,hsb->fh", DType::f32, {128, 1, 1}, {128, 1, 1}, 2, 2),
                    {96, 256, 2},
                    {64, 256, 2},
                    {96, 64},
                    {2, 2, 96},
                    {2, 2, 64}},
      small{op_of("sbh,fh->sbf", DType::bf16, {1, 1, 32}, {1, 32}),
            {9, 2, 384},
            {128, 384},
            {9, 2, 128},
            {9, 2, 12},
            {128, 12}},
      heads{op_of("sbnf,hnf->sbh", DType::bf16, {1, 1, 1, 96}, {1, 96, 128}, 0, 2),
            {9, 2, 4, 96},
            {384, 4, 96},
            {9, 2, 384},
            {9, 2, 4, 1},
            {4, 1, 3}};
  for (const Product& p : {two, small, heads}) {
    const LocalNode node = node_of(p, kOne);
    EXPECT_FALSE(has_two_scales(p.op, node)) << p.op.spec;
    EXPECT_FALSE(block_product(p.op, node)) << p.op.spec;
    const DecodedProduct values = decoded_product(p.op, node);
    EXPECT_EQ(values.dtype, DType::bf16);
    EXPECT_EQ(values.x_bytes, (count(p.x) * 2 + 255) / 256 * 256);
  }
}

// The library multiplies f32 values to f32 sums alone. So those of fp4 that are added to bf16 are rounded after it.
TEST(CodeProduct, multiplies_values_of_fp4_by_the_library) {
  for (const DType y : {DType::bf16, DType::f32})
    for (const bool adds : {false, true}) {
      Product p{op_of("sbf,hf->sbh", y, {1, 1, 16}, {16, 16}), {9, 2, 96}, {48, 96}, {9, 2, 48}, {9, 2, 6}, {3, 6}};
      p.op.x_format = p.op.w_format = CodeFormat::e2m1, p.op.accumulate = p.op.starts = adds;
      LocalNode node = node_of(p, kOne);
      if (adds) node.ins.push_back(node.outs[0]);
      const DecodedProduct values = decoded_product(p.op, node);
      EXPECT_EQ(values.dtype, DType::f32);
      EXPECT_EQ(values.rounds(), y == DType::bf16);
      EXPECT_EQ(values.sums_bytes, y == DType::bf16 ? (9 * 2 * 48 * 4 + 255) / 256 * 256 : 0);
      EXPECT_EQ(values.product.accumulate, adds && y == DType::f32);
      EXPECT_EQ(values.ins.size(), values.product.accumulate ? size_t(3) : 2);
      const LocalNode inner{node.mesh, node.coord, values.ins, values.outs, node.gpu};
      const auto problem = product_of(values.product, plan_einsum(operands_of(values.product, inner)), inner);
      ASSERT_TRUE(problem);
      EXPECT_TRUE(is_library_kind(*problem)) << name_of(y);
    }
}

}  // namespace megalith::cuda
