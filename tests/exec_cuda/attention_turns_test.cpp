// Attention's backward in sizes where many blocks add to the same rows of dq: the same bits every run, and what the
// kernel for everything computes, which gets documents that all begin at 0. Of a part of the queries the forward too.
#include "tests/kernels/run_op.h"

namespace megalith::kernel_tests {

namespace {

struct TurnSizes {
  i64 s, b, g, r, d;
};

double distance(const Array& a, const Array& b) {
  double off = 0, all = 0;
  for (size_t i = 0; i < a.x.size(); ++i) off += (a.x[i] - b.x[i]) * (a.x[i] - b.x[i]), all += b.x[i] * b.x[i];
  return std::sqrt(off / all);
}

void same_bits_every_run(const TurnSizes& n) {
  SCOPED_TRACE(fmt::format("s {} b {} g {} r {} d {}", n.s, n.b, n.g, n.r, n.d));
  const DType t = DType::bf16;
  const Shape q{n.s, n.b, n.g, n.r, n.d}, k{n.s, n.b, n.g, n.d};
  const Array rows = array(DType::i64, {n.b}, [](i64 i) { return double(i); });
  const Array starts = array(DType::i32, {n.s, n.b}, [](i64) { return 0; });
  AttentionSpec at{.scale = 1 / std::sqrt(double(n.d))}, general = at;
  general.starts = true;
  std::vector<Array> ins = {normals(t, q, 1), normals(t, k, 2), normals(t, k, 3), rows};
  const auto y = run_quick(Attention{at}, ins);
  ins.insert(ins.begin(), normals(t, q, 4));
  ins.insert(ins.begin() + 4, {y[0], y[1]});
  const auto first = run_quick(AttentionGrad{at}, ins);
  for (int run = 1; run < 20; ++run) {
    const auto again = run_quick(AttentionGrad{at}, ins);
    for (int i : {0, 1, 2}) ASSERT_TRUE(again[i].x == first[i].x) << "run " << run << ", result " << i;
  }
  ins.push_back(starts);
  const auto want = run_quick(AttentionGrad{general}, ins);
  // Factors of sums and results are rounded to bf16, relative 2^-9 each, four times at most.
  for (int i : {0, 1, 2}) EXPECT_LT(distance(first[i], want[i]), 0x1p-7) << "result " << i;
}

// Each rank has parts of the queries and all keys; the same, rank by rank.
void same_bits_of_parts(const TurnSizes& n, int ranks, Order order) {
  const Mesh mesh = make_mesh({1, ranks, 1, 1});
  const DType t = DType::bf16;
  const AxisList split = {{groups::context, order}};
  const Layout queries{{split, {}, {}, {}, {}}, {}, {}, {}}, of_starts{{split, {}}, {}, {}, {}};
  Layout keys = whole(4);
  keys.copy = {groups::context};
  const Shape q{n.s, n.b, n.g, n.r, n.d}, k{n.s, n.b, n.g, n.d};
  const Array all_q = normals(t, q, 1), all_k = normals(t, k, 2), all_v = normals(t, k, 3), all_dout = normals(t, q, 4);
  const Array rows = array(DType::i64, {n.b}, [](i64 i) { return double(i); });
  const Array all_starts = array(DType::i32, {n.s, n.b}, [](i64) { return 0; });
  AttentionSpec at{.scale = 1 / std::sqrt(double(n.d))}, general = at;
  general.starts = true;
  for (int rank = 0; rank < ranks; ++rank) {
    SCOPED_TRACE(fmt::format("s {} b {} g {} r {} d {}, rank {} of {}", n.s, n.b, n.g, n.r, n.d, rank, ranks));
    const Place place{mesh, mesh.coord(rank)};
    const Array starts = slice(all_starts, of_starts, place);
    std::vector<Array> ins = {slice(all_q, queries, place), slice(all_k, keys, place), slice(all_v, keys, place), rows};
    const auto y = run_quick(Attention{at}, ins, place);
    ins.push_back(starts);
    const auto want_y = run_quick(Attention{general}, ins, place);
    EXPECT_LT(distance(y[0], want_y[0]), 0x1p-7) << "o";
    EXPECT_LT(distance(y[1], want_y[1]), 0x1p-14) << "lse";  // scores' sums are f32
    ins.pop_back();
    ins.insert(ins.begin(), slice(all_dout, queries, place));
    ins.insert(ins.begin() + 4, {y[0], y[1]});
    const auto first = run_quick(AttentionGrad{at}, ins, place);
    for (int run = 1; run < 10; ++run) {
      const auto again = run_quick(AttentionGrad{at}, ins, place);
      for (int i : {0, 1, 2}) ASSERT_TRUE(again[i].x == first[i].x) << "run " << run << ", result " << i;
    }
    ins.push_back(starts);
    const auto want = run_quick(AttentionGrad{general}, ins, place);
    for (int i : {0, 1, 2}) EXPECT_LT(distance(first[i], want[i]), 0x1p-7) << "result " << i;
  }
}

}  // namespace

// A test for each shape, as racecheck takes minutes for one.
TEST(AttentionTurns, same_bits_every_run) {
  for (i64 d : {64, 128}) same_bits_every_run({1111, 1, 4, 1, d});
}
TEST(AttentionTurns, same_bits_of_four_heads_of_queries) {
  for (i64 d : {64, 128}) same_bits_every_run({1025, 1, 1, 4, d});
}
TEST(AttentionTurns, same_bits_of_eight_heads_of_queries) {
  for (i64 d : {64, 128}) same_bits_every_run({777, 1, 1, 8, d});
}

TEST(AttentionTurns, two_parts_of_the_queries) {
  for (i64 d : {64, 128}) same_bits_of_parts({1040, 1, 2, 4, d}, 2, Order::zigzag);
}
TEST(AttentionTurns, four_parts_of_the_queries) {
  for (i64 d : {64, 128}) same_bits_of_parts({2400, 2, 1, 1, d}, 4, Order::zigzag);
}
TEST(AttentionTurns, eight_parts_of_the_queries) {
  for (i64 d : {64, 128}) same_bits_of_parts({1600, 1, 3, 2, d}, 8, Order::zigzag);
}
TEST(AttentionTurns, four_parts_in_a_row) {
  for (i64 d : {64, 128}) same_bits_of_parts({1040, 1, 1, 8, d}, 4, Order::block);
}

// More key tiles than a run has, and more groups than are worked on at a time.
TEST(AttentionTurns, many_runs_and_groups) {
  same_bits_every_run({2100, 1, 1, 2, 128});
  same_bits_every_run({520, 1, 101, 1, 64});
}

}  // namespace megalith::kernel_tests
