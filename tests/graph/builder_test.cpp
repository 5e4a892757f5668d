#include "graph/builder.h"

#include <gtest/gtest.h>

#include "ops/add.h"
#include "ops/einsum.h"
#include "ops/reshape.h"
#include "ops/swiglu.h"
#include "tests/graph/small.h"

namespace megalith {

namespace {

struct BuilderFixture : testing::Test {
  BuilderFixture() { g.mesh = make_mesh({2, 2, 2, 1}); }
  Graph g;
  Builder b{g};
  static constexpr AxisSet tp = groups::tensor;
};
using BuilderTest = BuilderFixture;

bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

}  // namespace

TEST_F(BuilderTest, types_every_node) {
  const Value x = leaf(b, "x", {4, 2, 8}, kCopy), w = leaf(b, "w", {16, 8}, split(0));
  const Value y = einsum(b, "sbh,fh->sbf", x, w);
  EXPECT_EQ(to_string(b.type(y)), "f64[4, 2, 16]{, , tp_kv tp_rep}");
  EXPECT_TRUE(b.wants_grad(y));
  EXPECT_EQ(g.info(y).node, 0);
  EXPECT_NO_THROW(verify(g));
}

TEST_F(BuilderTest, a_leaf_has_one_type) {
  const Value x = leaf(b, "x", {4}, kSame);
  EXPECT_EQ(leaf(b, "x", {4}, kSame), x);
  EXPECT_THROW(leaf(b, "x", {8}, kSame), Error);
  EXPECT_THROW(leaf(b, "x", {4}, kCopy), Error);
  EXPECT_TRUE(contains(error_of([&] { leaf(b, "odd", {5}, split(0)); }), "odd"));
}

TEST_F(BuilderTest, an_error_names_op_place_and_axis) {
  b.set_origin({"mlp", 3});
  const Value x = leaf(b, "x", {4, 2, 8}, kPartial), w = leaf(b, "w", {8}, kCopy);
  const std::string e = error_of([&] { add(b, "sbh,h->sbh", x, w); });
  for (const char* part : {"[add]", "forward", "layer 3 mlp", "sbh,h->sbh", "tp_kv", "Partial", "Copy"})
    EXPECT_TRUE(contains(e, part)) << part << " is not in: " << e;
}

TEST_F(BuilderTest, the_same_relayout_is_one_node) {
  const Value x = leaf(b, "x", {4, 2, 8}, split(0));
  const Value a = b.relayout(x, tp, kCopy), c = b.relayout(x, tp, kCopy), same = b.relayout(x, tp, kSame);
  EXPECT_EQ(a, c);
  EXPECT_NE(a, same);
  EXPECT_EQ(b.relayout(a, tp, kCopy), a);  // there already
  EXPECT_EQ(b.relayout(x, tp, split(0)), x);
  b.set_phase(Phase::backward);
  EXPECT_NE(b.relayout(x, tp, kCopy), a);  // of another phase
}

TEST_F(BuilderTest, saved_gathers_again) {
  const Value x = leaf(b, "x", {4, 2, 8}, split(0)), sum = leaf(b, "sum", {4, 2, 8}, kPartial);
  const Value gathered = b.relayout(x, tp, kCopy), reduced = b.relayout(sum, tp, kSame);
  b.set_phase(Phase::backward);
  const Value again = b.saved(gathered);
  EXPECT_NE(again, gathered);
  EXPECT_EQ(b.type(again), b.type(gathered));
  EXPECT_EQ(b.saved(gathered), again);
  EXPECT_EQ(b.saved(reduced), reduced);
  EXPECT_EQ(b.saved(x), x);
  b.regather = false;
  EXPECT_EQ(b.saved(gathered), gathered);
}

TEST_F(BuilderTest, refuses_what_no_layout_allows) {
  const Value partial = leaf(b, "p", {8, 8}, kPartial), same = leaf(b, "s", {8, 8}, kSame);
  const Value bias = leaf(b, "bias", {8}, kCopy);
  EXPECT_THROW(add(b, "sh,h->sh", partial, bias), Error);         // a bias on a partial sum: it would be added n times
  EXPECT_THROW(add(b, "sh,sh->sh", same, partial), Error);        // a residual on a partial sum
  EXPECT_THROW(einsum(b, "sh,sh->sh", partial, partial), Error);  // the product of sums
  Layout cp_tk = whole(2), zig = whole(1), block = whole(1);
  cp_tk.dims[0] = {{groups::context}, {groups::kv_heads}};
  zig.dims[0] = {{groups::context, Order::zigzag}}, block.dims[0] = {{groups::context}};
  const Value nested = b.leaf({"nested", {DType::f64, {8, 8}, cp_tk}, Role::input, true});
  EXPECT_THROW(b.relayout(nested, {groups::context}, kCopy), Error);  // the outer axis first
  const Value z = b.leaf({"z", {DType::f64, {8}, zig}, Role::input, true});
  const Value l = b.leaf({"l", {DType::f64, {8}, block}, Role::input, true});
  EXPECT_THROW(einsum(b, "s,s->", z, l), Error);  // zigzag activations with block labels
  const Value gate_up = leaf(b, "gate_up", {8, 2, 16}, split(2)), qkv = leaf(b, "qkv", {8, 2, 24}, split(2));
  const Value halves = b.add1(Reshape{"sb(nf)->sbnf", {{'n', 2}, {'f', 8}}, {}}, {gate_up});
  EXPECT_THROW(swiglu(b, halves), Error);  // [gate; up] packed in one split dim
  EXPECT_THROW(b.add1(Reshape{"sb(nf)->sbnf", {{'n', 3}, {'f', 8}}, {}}, {qkv}), Error);
  Layout both = whole(3);
  both.dims[0] = {{groups::context}}, both.dims[1] = {{groups::data}};
  const Value sb = b.leaf({"sb", {DType::f64, {8, 4, 8}, both}, Role::input, true});
  EXPECT_THROW(b.add1(Reshape{"sbh->(sb)h", {}, {}}, {sb}), Error);  // s and b merged, both split
}

}  // namespace megalith
