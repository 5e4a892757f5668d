#include <gtest/gtest.h>

#include "mesh/rule.h"

namespace megalith {

namespace {

using Sizes = std::vector<std::pair<char, i64>>;
const Mesh kReshapeMesh = make_mesh({2, 3, 2, 4});

Result reshape(const std::string& spec, const Sizes& sizes, const Shape& shape, std::vector<AxisList> dims) {
  const Layout l{std::move(dims), {groups::data}, {}, {}};
  return infer_reshape(kReshapeMesh, spec, sizes, {shape, l, true});
}

}  // namespace

TEST(Reshape, merges_when_outer_factors_are_used_up) {
  const Sizes sizes = {{'g', 2}, {'r', 8}, {'d', 4}};
  Result r = reshape("sgrd->s(grd)", sizes, {6, 2, 8, 4},
                     {{{groups::context}}, {{groups::kv_heads}}, {{groups::query_heads}}, {}});
  EXPECT_EQ(r.shape, (Shape{6, 64}));
  EXPECT_EQ(to_string(r.layout), "{cp, tp_kv tp_rep | partial dp}");
  EXPECT_THROW(reshape("sgrd->s(grd)", sizes, {6, 2, 8, 4}, {{}, {}, {{groups::query_heads}}, {}}),
               Error);  // g not split, r split
  EXPECT_THROW(reshape("sgrd->s(grd)", sizes, {6, 2, 8, 4}, {{}, {{groups::kv_heads}}, {}, {{groups::query_heads}}}),
               Error);  // r between
  r = reshape("sgrd->s(grd)", sizes, {6, 2, 8, 4}, {{}, {{groups::kv_heads}}, {}, {}});
  EXPECT_EQ(r.layout.dims[1], (AxisList{{groups::kv_heads}}));
}

TEST(Reshape, splits_axes_from_the_outer_factor_on) {
  const Sizes sizes = {{'g', 2}, {'r', 8}};
  Result r = reshape("s(gr)->sgr", sizes, {6, 16}, {{}, {{groups::kv_heads}, {groups::query_heads}}});
  EXPECT_EQ(r.shape, (Shape{6, 2, 8}));
  EXPECT_EQ(r.layout.dims, (std::vector<AxisList>{{}, {{groups::kv_heads}}, {{groups::query_heads}}}));
  EXPECT_THROW(reshape("s(gr)->sgr", sizes, {6, 16}, {{}, {{groups::query_heads}}}), Error);  // 4 cuts across g of 2
  EXPECT_THROW(reshape("s(gr)->sgr", sizes, {6, 20}, {{}, {}}), Error);                       // 2 * 8 is not 20
}

// The atom of tp that only experts have goes to the inner factor. Atoms of one rank stay next to their neighbours.
TEST(Reshape, parts_of_an_axis_go_to_several_factors) {
  const Mesh cut = make_mesh({.dp = 2, .tp_kv = 4, .ep = 1, .etp = 2});
  const Layout l{{{}, {{groups::kv_heads}}}, {}, {}, {}};
  const auto to = [&](Sizes sizes) { return infer_reshape(cut, "s(gr)->sgr", sizes, {{6, 16}, l, true}).layout.dims; };
  EXPECT_EQ(to({{'g', 2}, {'r', 8}}),
            (std::vector<AxisList>{{}, {{{Axis::tp_kv_edp, Axis::tp_kv_ep}}}, {{Axis::tp_kv_etp}}}));
  EXPECT_EQ(to({{'g', 4}, {'r', 4}}), (std::vector<AxisList>{{}, {{groups::kv_heads}}, {}}));
  const Layout zig{{{}, {{groups::kv_heads, Order::zigzag}}}, {}, {}, {}};
  EXPECT_THROW(infer_reshape(cut, "s(gr)->sgr", {{'g', 2}, {'r', 8}}, {{6, 16}, zig, true}), Error);
}

TEST(Reshape, packed_dims_that_are_split_together_are_refused) {
  EXPECT_THROW(reshape("sb(nf)->sbnf", {{'n', 3}, {'f', 8}}, {2, 2, 24}, {{}, {}, {{groups::kv_heads}}}),
               Error);  // [q; k; v] over 2
  EXPECT_NO_THROW(reshape("sb(nf)->sbnf", {{'n', 2}, {'f', 8}}, {2, 2, 16},
                          {{}, {}, {{groups::kv_heads}}}));  // lands on n: swiglu refuses
  EXPECT_THROW(reshape("sbh->(sb)h", {}, {6, 2, 8}, {{{groups::context}}, {{groups::kv_heads}}, {}}), Error);
}

TEST(Reshape, letters_need_sizes_and_shapes_must_fit) {
  EXPECT_THROW(reshape("s(gr)->sgr", {{'g', 2}}, {6, 16}, {{}, {}}), Error);
  EXPECT_THROW(reshape("sg->(sg)", {}, {6, 2, 2}, {{}, {}, {}}), Error);
  EXPECT_EQ(reshape("sbgmd->sb(gm)d", {{'m', 1}}, {6, 2, 4, 1, 8}, {{}, {}, {{groups::kv_heads}}, {}, {}}).shape,
            (Shape{6, 2, 4, 8}));
}

}  // namespace megalith
