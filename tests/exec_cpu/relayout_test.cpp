// Relayouts between ranks, against the harness, which moves elements one by one from what the types say.
#include <gtest/gtest.h>

#include "exec/cpu/executor.h"
#include "tests/harness/move.h"
#include "tests/harness/rank_set.h"
#include "tests/harness/thread_ranks.h"

namespace megalith {

namespace {

using namespace harness;

struct Case {
  Mesh mesh;
  Type from;
  AxisSet axes;
  State to;
  Order order = Order::block;
  int rotated = 0;
};

// x -> relayout, on a lane or not, with something in place of the work that goes on meanwhile.
Plan plan_of(const Case& c, int lane) {
  Graph g;
  g.mesh = c.mesh;
  Builder b(g);
  const Value x = b.leaf({"x", c.from});
  Value y = b.relayout(x, c.axes, c.to, c.order, c.rotated);
  if (lane) {
    Relayout op = *g.nodes.back().op.get_if<Relayout>();
    op.lane = lane;
    g.nodes.back().op = op;
    y = b.add1(Wait{}, {y, x});
  }
  g.outputs["y"] = y;
  verify(g);
  return plan_graph(g);
}

std::string name_of(const Case& c) {
  return fmt::format("{} over {} to {}", to_string(c.from), to_string(c.axes), to_string(c.to));
}

void expect_as_harness(const Case& c, int lane) {
  const Plan plan = plan_of(c, lane);
  const Program& p = plan.programs[0];
  const auto* op = p.instructions[0].op.get_if<Relayout>();
  const Buffer& out = p.buffers[p.outputs.at("y")];
  const Blocks xs = place(c.mesh, c.from, random_tensor(c.from.shape, 3));
  // What buffers hold, which may be rounded.
  Blocks held = xs;
  const i64 local = local_type(c.mesh, c.from).elements();
  for (auto& block : held) {
    std::vector<std::byte> bytes(size_t(local * size_of(c.from.dtype)));
    to_bytes(c.from.dtype, block, bytes.data());
    block = from_bytes(c.from.dtype, bytes.data(), local);
  }
  const Blocks want = move(c.mesh, *op, c.from, out.type, held);
  Blocks got(want.size());
  run_ranks(c.mesh.num_ranks(), [&](Ranks& ranks) {
    cpu::Executor executor(plan, c.mesh.coord(ranks.rank()), &ranks);
    to_bytes(c.from.dtype, xs[ranks.rank()], executor.leaf("x"));
    for (int run = 0; run < 2; ++run) executor.run(0);
    got[ranks.rank()] =
        from_bytes(c.from.dtype, executor.buffer(0, p.outputs.at("y")), local_type(c.mesh, out.type).elements());
  });
  const double tolerance = c.from.dtype == DType::f64 ? 1e-15 : 1e-6;
  for (size_t r = 0; r < want.size(); ++r) {
    ASSERT_EQ(got[r].size(), want[r].size()) << name_of(c);
    for (size_t i = 0; i < want[r].size(); ++i)
      ASSERT_NEAR(got[r][i], want[r][i], tolerance * 8) << name_of(c) << " rank " << r << " element " << i;
  }
}

// A [16, 8, 16] value whose state over tp is `s`; over cp its first dim is cut in zigzag, over dp its second.
Type value(State s, DType dtype) {
  Layout l = whole(3);
  l.dims[0].add({groups::context, Order::zigzag}), l.dims[1].add({groups::data});
  if (s.is_split()) l.dims[s.dim].add({groups::tensor});
  if (s == kPartial) l.partial.insert(groups::tensor);
  if (s == kCopy) l.copy.insert(groups::tensor);
  if (s == kMax) l.max.insert(groups::tensor);
  return {dtype, {16, 8, 16}, l};
}

const std::vector<std::pair<State, State>> kRows = {
    {kSame, kCopy},       {kCopy, kSame},       {kPartial, kSame},    {kPartial, kCopy},    {kPartial, split(0)},
    {kPartial, split(1)}, {kPartial, split(2)}, {split(0), kCopy},    {split(1), kSame},    {split(2), kCopy},
    {kSame, split(1)},    {kCopy, split(0)},    {split(0), split(1)}, {split(2), split(0)}, {split(1), split(2)},
    {split(0), kPartial}, {split(2), kPartial}, {kSame, kPartial},    {kCopy, kPartial},    {kMax, kSame}};

}  // namespace

TEST(CpuRelayout, every_row_in_line_and_on_a_lane) {
  constexpr AxisSet tp = groups::tensor;
  for (const Mesh& mesh : {make_mesh({1, 1, 2, 1}), make_mesh({1, 2, 1, 2}), make_mesh({2, 1, 2, 2})})
    for (const auto& [from, to] : kRows)
      for (const DType dtype : {DType::f32, DType::f64})
        for (const int lane : {0, 2}) expect_as_harness({mesh, value(from, dtype), tp, to}, lane);
}

TEST(CpuRelayout, zigzag_out_of_and_into_blocks) {
  for (const Mesh& mesh : {make_mesh({1, 4, 1, 1}), make_mesh({.cp = 4, .ep = 2, .etp = 1})}) {  // whole, and cut
    Type zigzag = {DType::f32, {24, 6}, {{{{groups::context, Order::zigzag}}, {}}, {}, {}, {}}}, block = zigzag,
         part = zigzag;
    block.layout.dims[0] = {{groups::context}};
    part.layout.dims[0].clear(), part.layout.partial = {groups::context};
    expect_as_harness({mesh, zigzag, {groups::context}, kCopy}, 0);
    expect_as_harness({mesh, zigzag, {groups::context}, split(0), Order::block}, 0);
    expect_as_harness({mesh, block, {groups::context}, split(0), Order::zigzag}, 1);
    expect_as_harness({mesh, part, {groups::context}, split(0), Order::zigzag}, 1);
  }
}

// Of a mixture: a gradient that is summed over expert-data ranks, weights that the expert ranks share. Tokens come to
// all ranks of an expert group.
TEST(CpuRelayout, over_the_groups_of_the_expert_view) {
  constexpr AxisSet edp = groups::expert_data, ep = groups::expert, etp = groups::expert_tensor, both = {ep, etp};
  for (const Mesh& mesh :
       {make_mesh({.dp = 4, .tp_kv = 2, .ep = 4, .etp = 1}), make_mesh({.dp = 2, .tp_kv = 4, .ep = 2, .etp = 2}),
        make_mesh({.cp = 4, .tp_kv = 2, .ep = 4, .etp = 1})}) {
    const Type gradient{DType::f32, {8, 4, 6}, {{{{ep}}, {{etp}}, {}}, edp, {}, {}}};
    expect_as_harness({mesh, gradient, edp, kSame}, 0);
    expect_as_harness({mesh, gradient, edp, kSame}, 2);
    expect_as_harness({mesh, gradient, edp, split(2)}, 1);
    expect_as_harness({mesh, {DType::f64, {8, 4, 6}, {{{{ep}}, {{etp}}, {}}, {}, edp, {}}}, ep, kCopy}, 0);
    expect_as_harness({mesh, {DType::f32, {8, 4, 8}, {{{{ep}}, {{etp}}, {}}, {}, edp, {}}}, ep, split(2)}, 0);
    Layout tokens{{{{groups::context}, {groups::tensor}}, {{groups::data}}, {}}, {}, {}, {}};
    for (const AxisSet axes : {AxisSet{both & groups::tensor}, AxisSet{both & groups::data}})
      expect_as_harness({mesh, {DType::f32, {16, 8, 3}, tokens}, axes, kCopy}, 0);
  }
}

TEST(CpuRelayout, rotations) {
  for (const Mesh& mesh : {make_mesh({1, 2, 1, 1}), make_mesh({1, 4, 1, 1}), make_mesh({2, 3, 2, 1}),
                           make_mesh({.cp = 4, .ep = 2, .etp = 1})})
    for (const Order order : {Order::block, Order::zigzag})
      for (const int dim : {0, 1})
        for (int from = 0; from < mesh.n(groups::context); ++from)
          for (int to = 0; to < mesh.n(groups::context); ++to) {
            Layout l = whole(3);
            l.dims[size_t(dim)] = {{groups::context, order, from}}, l.dims[2] = {{groups::kv_heads}},
            l.partial = {groups::data};
            const Case c{mesh, {DType::f32, {24, 48, 4}, l}, {groups::context}, split(dim), order, to};
            if (from != to) expect_as_harness(c, from % 2);
          }
}

TEST(CpuRelayout, values_that_do_not_divide_and_scalars) {
  const Mesh mesh = make_mesh({3, 1, 1, 1});
  for (const Shape& shape : {Shape{7}, Shape{}, Shape{1}, Shape{2, 5}}) {
    Type t{DType::f64, shape, whole(shape.size())};
    t.layout.partial = {groups::data};
    expect_as_harness({mesh, t, {groups::data}, kSame}, 0);
    expect_as_harness({mesh, t, {groups::data}, kCopy}, 1);
  }
}

// Half a unit in the last place of a bf16 is 2^-9 of a number below 8.
TEST(CpuRelayout, bf16_terms_are_added_in_f32) {
  const Mesh mesh = make_mesh({8, 1, 1, 1});
  Type t{DType::bf16, {1024}, whole(1)};
  t.layout.partial = {groups::data};
  const Plan plan = plan_of({mesh, t, {groups::data}, kSame}, 0);
  std::vector<std::vector<bf16>> results(8, std::vector<bf16>(1024));
  run_ranks(8, [&](Ranks& ranks) {
    cpu::Executor executor(plan, mesh.coord(ranks.rank()), &ranks);
    auto* x = reinterpret_cast<bf16*>(executor.leaf("x"));
    for (int i = 0; i < 1024; ++i) x[i] = ranks.rank() == 0 ? bf16(256.0f) : bf16(0.25f);
    executor.run(0);
    std::memcpy(results[ranks.rank()].data(), executor.buffer(0, plan.programs[0].outputs.at("y")), 2048);
  });
  for (const auto& r : results)  // 257.75 rounds to 258; terms added in bf16 would leave 256
    for (bf16 v : r) ASSERT_EQ(float(v), 258.0f);
}

TEST(CpuRelayout, alone_it_is_an_error) {
  Type t{DType::f32, {4}, whole(1)};
  t.layout.partial = {groups::data};
  const Plan plan = plan_of({make_mesh({2, 1, 1, 1}), t, {groups::data}, kSame}, 0);
  cpu::Executor executor(plan);
  EXPECT_THROW(executor.run(0), Error);
}

}  // namespace megalith
