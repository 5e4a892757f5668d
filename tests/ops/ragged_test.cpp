// The types of experts' rows.
#include <gtest/gtest.h>

#include "ops/expert_parts.h"
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

// With fewer rows the types are the same but for n.
TEST(Ragged, RowsOfAPartAreAsManyAsAsked) {
  Rows r;
  const Value choice = r.b.find_leaf("choice");
  const Value cuts = r.b.add1(ExpertParts{8, 10, 4}, {choice});
  EXPECT_EQ(local_type(r.g.mesh, r.b.type(cuts)).shape, (Shape{1, 1, 5}));
  const ExpertPlan part = expert_rows(r.b, choice, cuts, {8, 10, 2});
  EXPECT_EQ(r.b.type(part.ends), r.b.type(r.plan.ends));
  EXPECT_EQ(r.b.type(part.slots), r.b.type(r.plan.slots));
  EXPECT_EQ(r.b.type(part.source).layout, r.b.type(r.plan.source).layout);
  EXPECT_EQ(local_type(r.g.mesh, r.b.type(gather_rows(r.b, r.x, part))).shape, (Shape{10, 6}));
  EXPECT_TRUE(has(error_of([&] { r.b.add1(ExpertParts{8, 1, 32}, {choice}); }), "32 parts of 1 rows"));
}

// Kernels touch the rows that are there, not all that there is room for.
TEST(Ragged, CostsCountTheRowsThatThereAreOnAverage) {
  const auto bytes = [](double filled) {
    Rows r;
    ExpertPlan plan = r.plan;
    plan.filled = filled;
    const Value rows = gather_rows(r.b, r.x, plan), y = combine_rows(r.b, rows, plan);
    const auto of = [&](const Node& n) {
      std::vector<Type> ins, outs;
      for (const Value v : n.ins) ins.push_back(local_type(r.g.mesh, r.b.type(v)));
      for (const Value v : n.outs) outs.push_back(local_type(r.g.mesh, r.b.type(v)));
      return n.op.cost(ins, outs).bytes;
    };
    return std::array{of(r.g.nodes[r.g.info(rows).node]), of(r.g.nodes[r.g.info(y).node]),
                      double(local_type(r.g.mesh, r.b.type(y)).bytes())};
  };
  const auto all = bytes(1), quarter = bytes(0.25);
  EXPECT_DOUBLE_EQ(quarter[0], all[0] / 4);
  EXPECT_DOUBLE_EQ(quarter[1] - quarter[2], (all[1] - all[2]) / 4);  // what it writes are tokens, which are all there
}

// The figures of the Mixtral, Qwen3 and DeepSeek-V3 rows of a GPU with 4096 tokens.
TEST(Ragged, RoomForRows) {
  const auto worst = [](i64 ep, i64 k, i64 experts) { return expert_room(ep * 4096, k, experts, ep, {}).worst; };
  EXPECT_EQ(worst(8, 2, 8), 32'768);
  EXPECT_EQ(worst(8, 8, 128), 262'144);
  EXPECT_EQ(worst(64, 8, 256), 1'048'576);
  const ExpertRoom all = expert_room(8 * 4096, 8, 128, 8, {}), twice = expert_room(8 * 4096, 8, 128, 8, 2.0);
  EXPECT_EQ(all.balanced, 32'768);
  EXPECT_EQ(all.rows, all.worst);
  EXPECT_EQ(all.parts, 1);
  EXPECT_EQ(twice.rows, 65'536);
  EXPECT_EQ(twice.parts, 4);
  EXPECT_EQ(expert_room(8 * 4096, 8, 128, 8, 100.0).parts, 1);
  const ExpertRoom least = expert_room(10, 3, 4, 1, 1e-9);
  EXPECT_EQ(least.rows, 3);
  EXPECT_EQ(least.parts, 10);
  for (const double factor : {0.11, 0.3, 0.5, 0.77, 0.99, 1.4}) {  // however tokens choose, the parts are enough
    const ExpertRoom room = expert_room(101, 3, 8, 2, factor);
    EXPECT_GE(room.parts * (room.rows / 3), 101) << factor;
    EXPECT_EQ(room.parts == 1, room.rows == room.worst) << factor;
  }
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
