#include "ops/einsum_plan.h"

namespace megalith {

namespace {

enum { kX = 0, kW = 1, kY = 2 };

// The loops, grouped by the operands that have them.
struct Groups {
  std::vector<Loop> batch, m, n, k, alone;  // in all three; in x and y; in w and y; in x and w; in only one

  explicit Groups(const std::vector<Loop>& loops) {
    for (const Loop& l : loops) {
      const bool x = l.stride[kX], w = l.stride[kW], y = l.stride[kY];
      (x && w && y ? batch : x && y ? m : w && y ? n : x && w ? k : alone).push_back(l);
    }
  }
};

bool dense(const Loop& l) {
  for (i64 s : l.stride)
    if (s > 1) return false;
  return true;
}

// The matrix product `[m,k] x [k,n]`, if each group has at most one loop and y's rows or columns are dense.
bool as_gemm(const Groups& g, const EinsumOperands& ops, EinsumPlan& plan) {
  if (!g.alone.empty() || g.m.size() > 1 || g.n.size() > 1 || g.k.size() > 1) return false;
  const Loop none, m = g.m.empty() ? none : g.m[0], n = g.n.empty() ? none : g.n[0], k = g.k.empty() ? none : g.k[0];
  if (m.n * n.n == 1 || m.n * n.n * k.n < 512) return false;  // too small for a library call
  plan.swapped = m.stride[kY] == 1 || n.stride[kY] > 1;
  if ((plan.swapped ? m : n).stride[kY] > 1) return false;
  plan.kind = EinsumPlan::kGemm;
  const Loop &rows = plan.swapped ? n : m, &cols = plan.swapped ? m : n;
  const int a = plan.swapped ? kW : kX, b = plan.swapped ? kX : kW;
  // A dim of size 1 gets the stride that makes its matrix ordinary.
  auto stride = [](const Loop& l, int operand, i64 otherwise) { return l.n == 1 ? otherwise : l.stride[operand]; };
  GemmSpec& s = plan.gemm;
  s.m = rows.n, s.n = cols.n, s.k = k.n;
  s.a = {ops.dtypes[a], stride(rows, a, k.stride[a] == 1 ? k.n : 1), stride(k, a, rows.stride[a] == 1 ? rows.n : 1)};
  s.b = {ops.dtypes[b], stride(k, b, cols.stride[b] == 1 ? cols.n : 1), stride(cols, b, k.stride[b] == 1 ? k.n : 1)};
  s.c = {ops.dtypes[kY], stride(rows, kY, cols.n), 1};
  plan.outer = g.batch;
  return true;
}

}  // namespace

EinsumPlan plan_einsum(const EinsumOperands& ops) {
  const std::vector<Loop> loops = make_loops({ops.x, ops.w, ops.y});
  EinsumPlan plan;
  if (count(ops.y.shape) == 0) return plan;
  const Groups g(loops);
  const bool any = size_of(loops) > 0;
  if (any && as_gemm(g, ops, plan)) return plan;
  for (const Loop& l : loops) (l.stride[kY] ? plan.outer : plan.inner).push_back(l);
  plan.kind = EinsumPlan::kLoops;
  if (loops.size() != 1 || !any || !dense(loops[0])) return plan;
  if (g.batch.size() == 1) plan.kind = EinsumPlan::kMultiply;
  if (g.k.size() == 1) plan.kind = EinsumPlan::kDot;
  return plan;
}

}  // namespace megalith
