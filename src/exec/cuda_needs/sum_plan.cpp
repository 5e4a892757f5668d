#include "exec/cuda_needs/sum_plan.h"

#include <algorithm>

namespace megalith::cuda {

namespace {

enum { kX = 0, kY = 1 };
// The target number of blocks: the concurrent blocks of an H200. It is fixed, so sums do not depend on the GPU.
constexpr i64 kBlocks = 396;
constexpr i64 kFewestRows = 64;  // of a chunk
constexpr i64 kFewestTerms = 8192;
constexpr i64 kMostRunChunks = 256;

i64 ceil_div(i64 a, i64 b) { return (a + b - 1) / b; }

// Moves x's innermost loop to the end. Returns whether there is one.
bool innermost_last(std::vector<Loop>& loops) {
  for (size_t i = 0; i < loops.size(); ++i)
    if (loops[i].stride[kX] == 1) {
      std::swap(loops[i], loops.back());
      return true;
    }
  return false;
}

void cut(SumLaunch& l, i64 chunks, i64 multiple) {
  l.chunk = ceil_div(ceil_div(l.terms, std::max<i64>(1, chunks)), multiple) * multiple;
  l.chunks = l.terms == 0 ? 1 : ceil_div(l.terms, l.chunk);
}

SumLaunch plan(DType from, DType to, std::vector<Loop> kept, std::vector<Loop> summed, i64 most_blocks) {
  SumLaunch l{from, to, {}, {}};
  const i64 pack = 16 / size_of(l.from);
  l.outputs = size_of(kept), l.terms = size_of(summed);
  if (innermost_last(kept)) {
    const Loop columns = kept.back();
    kept.pop_back();
    l.kept = table_of(kept), l.summed = table_of(summed);
    l.columns = columns.n, l.column_step = columns.stride[kY];
    l.packed = l.columns % pack == 0 && strides_divide(l.kept, kX, pack) && strides_divide(l.summed, kX, pack);
    const i64 blocks = l.groups() * ceil_div(l.columns, 32 * (l.packed ? pack : 1));
    cut(l, std::min(most_blocks / std::max<i64>(1, blocks), ceil_div(l.terms, kFewestRows)), 1);
  } else {
    const bool contiguous = innermost_last(summed) && summed.size() == 1;
    l.kept = table_of(kept), l.summed = table_of(summed);
    l.packed = contiguous && strides_divide(l.kept, kX, pack);
    const i64 chunks =
        std::min({kBlocks / std::max<i64>(1, l.outputs), ceil_div(l.terms, kFewestTerms), kMostRunChunks});
    cut(l, chunks, pack);
  }
  return l;
}

}  // namespace

SumLoops loops_of(const Sum& op, const LocalNode& node) {
  const auto [ins, outs] = split_spec(op.spec);
  SumLoops out;
  for (const Loop& loop : make_loops({{ins[0], node.in_shape(0)}, {outs[0], node.out_shape(0)}}))
    (loop.stride[kY] ? out.kept : out.summed).push_back(loop);
  return out;
}

SumLaunch plan_sum(DType from, DType to, const SumLoops& loops) {
  return plan(from, to, loops.kept, loops.summed, kBlocks);
}

bool fits_hopper(const SumLaunch& l, int capability) {
  constexpr i64 kFewest = 1600, kMost = 4800, kRows = 2048;  // columns; rows that give each thread 8 loads at once
  const bool whole = l.columns == l.outputs && l.column_step == 1 && l.summed.count == 1 && l.packed;
  return capability == 90 && l.from == DType::bf16 && (l.to == DType::bf16 || l.to == DType::f32) && whole &&
         l.columns >= kFewest && l.columns <= kMost && l.summed.stride[0][kX] == l.columns && l.terms >= kRows &&
         l.terms < i64{1} << 30;
}

SumLaunch column_sums(DType from, DType to, i64 rows, i64 columns) {
  const auto loops = make_loops({{"rc", {rows, columns}}, {"c", {columns}}});
  std::vector<Loop> kept, summed;
  for (const Loop& loop : loops) (loop.stride[kY] ? kept : summed).push_back(loop);
  return plan(from, to, kept, summed, 2 * kBlocks);
}

bool adds_on_the_way(const SumLaunch& sums, i64 rows, i64 columns) {
  return sums.columns == columns && sums.terms == rows && rows >= 2 && sums.packed;
}

}  // namespace megalith::cuda
