// The types of experts' rows.
#include <gtest/gtest.h>

#include "ops/expert_rows.h"
#include "ops/gather_rows.h"
#include "ops/grouped_product.h"
#include "tests/error_of.h"

namespace megalith {

namespace {

AxisSet all_but(AxisSet axes, AxisSet less) {
  axes.erase(less);
  return axes;
}

bool has(const std::string& text, const char* part) { return text.find(part) != std::string::npos; }

// 2 of 8 experts, 4 tokens x 4 samples; ep 2 and etp 2 of dp 8, so edp 2.
struct Rows {
  Graph g;
  Builder b{g};
  Value x, w1;
  ExpertPlan plan;
  Value rows;

  Rows() {
    g.mesh = make_mesh({.dp = 8, .ep = 2, .etp = 2});
    constexpr AxisSet kSplit = groups::data & groups::expert_data;
    const Layout tokens = {{{}, {{kSplit}}, {}}, {}, all_but(groups::stage, kSplit), {}};
    x = b.leaf({"x", {DType::f64, {4, 8, 6}, tokens}, Role::input, true});
    const Value choice = b.leaf({"choice", {DType::i32, {4, 8, 2}, tokens}});
    plan = expert_rows(b, choice, 8);
    rows = gather_rows(b, x, plan);
    Layout weight = {{{{groups::expert}}, {{groups::expert_tensor}}, {}}, {}, groups::expert_data, {}};
    w1 = b.leaf({"w1", {DType::f64, {8, 10, 6}, weight}, Role::parameter, true});
  }
  Value u() { return grouped_product(b, "nh,efh->nf", rows, w1, plan.ends); }
};

}  // namespace

// A rank's rows are as many as it can get: of 16 tokens of its group at most 2 slots each.
TEST(Ragged, BoundIsTheWorstCase) {
  Rows r;
  EXPECT_EQ(local_type(r.g.mesh, r.b.type(r.rows)).shape, (Shape{32, 6}));
  EXPECT_EQ(local_type(r.g.mesh, r.b.type(r.plan.ends)).shape, (Shape{1, 4}));
  EXPECT_EQ(local_type(r.g.mesh, r.b.type(r.plan.slots)).shape, (Shape{1, 4, 4, 2}));
}

TEST(Ragged, StatesOfTheAxes) {
  Rows r;
  const Layout u = r.b.type(r.u()).layout;
  for (Axis a : r.g.mesh.used(groups::expert)) EXPECT_EQ(u.state(a), split(0));
  for (Axis a : r.g.mesh.used(groups::expert_data)) EXPECT_EQ(u.state(a), split(0));
  for (Axis a : r.g.mesh.used(groups::expert_tensor)) EXPECT_EQ(u.state(a), split(1));
}

// Reduction follows from the type: over edp and nothing else.
TEST(Ragged, WeightGradientIsASumOverEdpAlone) {
  Rows r;
  const Value u = r.u();
  r.b.set_phase(Phase::backward);
  const Value dy = r.b.leaf({"dy", r.b.type(u).dual(DType::f64), Role::input, true});
  const auto cot = backward(r.b, std::map<Value, Value>{{u, dy}});
  EXPECT_EQ(r.g.mesh.used(r.b.type(cot.at(r.w1)).layout.partial), r.g.mesh.used(groups::expert_data));
  EXPECT_EQ(r.b.type(cot.at(r.w1)), r.b.type(r.w1).dual(DType::f64));
  EXPECT_EQ(r.b.type(cot.at(r.x)), r.b.type(r.x).dual(DType::f64));
}

TEST(Ragged, NothingElseTakesTheSplit) {
  Rows r;
  const Type& t = r.b.type(r.rows);
  EXPECT_TRUE(has(error_of([&] { index_runs(r.g.mesh, t.shape, t.layout, Coord{}, 0); }), "is ragged"));
  const AxisSet ep = r.g.mesh.used(groups::expert);
  EXPECT_TRUE(has(error_of([&] { r.b.relayout(r.rows, ep, kCopy); }), "no relayout takes rows of experts"));
  EXPECT_TRUE(has(error_of([&] { r.b.relayout(r.x, ep, split(0), Order::ragged); }), "ragged"));
}

TEST(Ragged, TokensMustHaveBeenGathered) {
  Rows r;
  const Layout spread = {{{}, {{groups::data}}, {}}, {}, {}, {}};
  const Value choice = r.b.leaf({"spread", {DType::i32, {4, 8, 2}, spread}});
  EXPECT_TRUE(has(error_of([&] { expert_rows(r.b, choice, 8); }), "not Copy over ep"));
  const Value x = r.b.leaf({"other", {DType::f64, {4, 8, 6}, spread}, Role::input, true});
  EXPECT_TRUE(has(error_of([&] { gather_rows(r.b, x, r.plan); }), "tokens are"));
}

}  // namespace megalith
