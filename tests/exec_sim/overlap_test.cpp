// Times of work that overlaps lanes' transfers, and of measured transfers, computed by hand.
#include "exec/sim/overlap.h"

#include <gtest/gtest.h>

#include "exec/sim/facts_clock.h"
#include "exec/sim/simulator.h"
#include "ops/all.h"

namespace megalith::sim {

namespace {

using Table = KernelKind::Table;
constexpr BesideFacts kBeside{.product = 1.25, .attention = 2, .memory = 4, .transfer = 1.5};

}  // namespace

TEST(Overlap, work_is_slowed_as_long_as_a_transfer_goes_on_beside_it) {
  Overlap o(kBeside);
  const int ticket = o.begin(1, 2, true);
  // The transfer takes 2 x 1.5 = 3 s. Meanwhile 3 / 1.25 = 2.4 s of the product are done; 2.6 s remain.
  EXPECT_DOUBLE_EQ(o.work(5, Table::product), 3 + 2.6);
  EXPECT_DOUBLE_EQ(o.wait(ticket), 0);
  EXPECT_DOUBLE_EQ(o.work(5, Table::product), 5);
}

TEST(Overlap, a_transfer_that_work_does_not_hide_goes_on_at_its_own_rate) {
  Overlap o(kBeside);
  const int ticket = o.begin(1, 10, true);
  EXPECT_DOUBLE_EQ(o.work(1, Table::attention), 2);
  EXPECT_NEAR(o.wait(ticket), 10 - 2 / 1.5, 1e-12);
}

TEST(Overlap, each_kind_of_work_has_its_own_slowdown) {
  for (const auto& [table, slower] : {std::pair{Table::product, 1.25}, {Table::attention, 2.0}, {Table::memory, 4.0}}) {
    Overlap o(kBeside);
    o.begin(1, 100, true);
    EXPECT_DOUBLE_EQ(o.work(1, table), slower);
  }
}

TEST(Overlap, transfers_on_one_lane_follow_each_other_and_those_on_two_do_not) {
  Overlap one({}), two({});
  const int first = one.begin(1, 2, true), second = one.begin(1, 3, true);
  EXPECT_DOUBLE_EQ(one.wait(first), 2);
  EXPECT_DOUBLE_EQ(one.wait(second), 3);
  two.begin(1, 2, true);
  EXPECT_DOUBLE_EQ(two.wait(two.begin(2, 3, true)), 3);
}

TEST(Overlap, copies_over_the_bus_slow_nothing) {
  Overlap o(kBeside);
  const int copy = o.begin(1, 2, false);
  EXPECT_DOUBLE_EQ(o.work(1, Table::memory), 1);
  EXPECT_DOUBLE_EQ(o.wait(copy), 1);
}

TEST(MeasuredTransfers, go_by_kind_ranks_and_lane) {
  DeviceFacts f;
  f.node.gbps = 100;
  f.transfers = {{"all_gather", 2, false, {{1e6, 10}, {1e8, 100}}},
                 {"all_gather", 4, false, {{1e8, 50}}},
                 {"all_gather", 4, true, {{1e8, 25}}}};
  const FactsClock clock(f);
  EXPECT_DOUBLE_EQ(*clock.measured("all_gather", false, 5e7, 1e8, {0, 1}), 5e7 / 100e9);
  EXPECT_DOUBLE_EQ(*clock.measured("all_gather", false, 7.5e7, 1e8, {0, 1, 2, 3}), 7.5e7 / 50e9);
  EXPECT_DOUBLE_EQ(*clock.measured("all_gather", true, 7.5e7, 1e8, {0, 1, 2, 3}), 7.5e7 / 25e9);
  // 50 and 500 us at 1 and 100 MB: between these sizes times are interpolated geometrically. No message is faster
  // than the smallest.
  EXPECT_NEAR(*clock.measured("all_gather", false, 5e6, 1e7, {0, 1}), std::sqrt(50e-6 * 500e-6), 1e-9);
  EXPECT_DOUBLE_EQ(*clock.measured("all_gather", false, 5e3, 1e4, {0, 1}), 50e-6);
  EXPECT_FALSE(clock.measured("all_reduce", false, 5e7, 1e8, {0, 1}));
  EXPECT_FALSE(clock.measured("all_gather", false, 5e7, 1e8, {0, 8})) << "in two nodes";
}

// A program with a product that overlaps a gather of known length.
TEST(MeasuredTransfers, a_program_takes_its_product_slowed_by_the_gather_beside_it) {
  Graph g;
  g.mesh = make_mesh({.dp = 2});
  Builder b(g);
  Type part{DType::f32, {1 << 20}, whole(1)};
  part.layout.dims[0] = {{groups::data}};
  const Value moved = b.begin_relayout(b.leaf({"part", part}), groups::data, kSame, 1);
  const Value x = b.leaf({"x", {DType::f32, {64, 64}, whole(2)}});
  b.add1(Einsum{"ab,bc->ac", DType::f32}, {x, x});
  b.wait(moved);
  const Plan plan = plan_memory(g.mesh, {{"p", &g, {Phase::forward}}}, [](auto&, auto&) { return i64{0}; });
  DeviceFacts f;
  f.hbm_gbps = 1, f.together = 2, f.beside = kBeside;
  const double bytes = 4 << 20, gather = 3e-3;
  f.transfers = {{"all_gather", 2, true, {{bytes, bytes / 2 / gather / 1e9}}}};
  const Program& p = plan.programs[0];
  for (const Instruction& in : p.instructions)
    if (in.op.get_if<Einsum>()) {
      const KernelKind kind = kind_of(plan, p, in);
      f.products = {{kind.form, kind.sizes, kind.work, 4e-3}};
    }
  const FactsClock clock(f);
  // 4 ms x 2 (together) alone. The gather takes 4.5 ms during it, so 4.5 / 1.25 = 3.6 ms of it are done meanwhile.
  const Estimate e = simulate(plan, p, clock);
  EXPECT_NEAR(e.total.seconds, 4.5e-3 + 8e-3 - 3.6e-3, 1e-9);
  EXPECT_NEAR(e.exposed, 0, 1e-12);
}

}  // namespace megalith::sim
