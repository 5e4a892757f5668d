// Attention's backward in sizes where many blocks add to the same rows of dq: the same bits every run, and what the
// kernel for everything computes, which gets documents that all begin at 0.
#include "tests/kernels/run_op.h"

namespace megalith::kernel_tests {

namespace {

struct Sizes {
  i64 s, b, g, r, d;
};

double distance(const Array& a, const Array& b) {
  double off = 0, all = 0;
  for (size_t i = 0; i < a.x.size(); ++i) off += (a.x[i] - b.x[i]) * (a.x[i] - b.x[i]), all += b.x[i] * b.x[i];
  return std::sqrt(off / all);
}

void same_bits_every_run(const Sizes& n) {
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

}  // namespace

TEST(AttentionTurns, same_bits_every_run) {
  for (i64 d : {64, 128}) {
    same_bits_every_run({1111, 1, 4, 1, d});
    same_bits_every_run({1025, 1, 1, 4, d});
    same_bits_every_run({777, 1, 1, 8, d});
  }
}

// More key tiles than a run has, and more groups than are worked on at a time.
TEST(AttentionTurns, many_runs_and_groups) {
  same_bits_every_run({2100, 1, 1, 2, 128});
  same_bits_every_run({300, 5, 10, 1, 64});
}

}  // namespace megalith::kernel_tests
