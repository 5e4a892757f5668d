// Splits of work that depend only on sizes, so that no result depends on the number of threads.
#pragma once
#include "base/threads.h"
#include "ops/loops.h"

namespace megalith::cpu {

constexpr i64 kBlock = 4096;  // elements; ranges are cut at multiples of it

// Calls f(begin, end) in parallel over [0, n), cut at multiples of kBlock. So the partial vectors of loops are always
// at the same elements.
template <class F>
void parallel_blocks(i64 n, F&& f) {
  const i64 blocks = (n + kBlock - 1) / kBlock;
  parallel_ranges(blocks, 1, [&](i64 b, i64 e) {
    if (b < e) f(b * kBlock, std::min(n, e * kBlock));
  });
}

// Calls f(row, i, n) for each row of `width` elements in [begin, end). The row's elements there are [i, i + n).
template <class F>
void for_rows(i64 begin, i64 end, i64 width, F&& f) {
  for (i64 i = begin, next; i < end; i = next) {
    next = std::min(end, (i / width + 1) * width);
    f(i / width, i, next - i);
  }
}

// The sum of f(begin, end) over chunks of kSumPart elements. partial: scratch for one number per chunk.
constexpr i64 kSumPart = 4 * kBlock;
inline i64 sum_parts(i64 n) { return (n + kSumPart - 1) / kSumPart; }
template <class F>
double sum_in_parts(i64 n, double* partial, F&& f) {
  parallel_for(sum_parts(n), 1, [&](i64 i) { partial[i] = f(i * kSumPart, std::min(n, (i + 1) * kSumPart)); });
  double sum = 0;
  for (i64 i = 0; i < sum_parts(n); ++i) sum += partial[i];
  return sum;
}

// Calls f(offsets, n) in parallel for each run of the innermost loop, cut into pieces of kBlock elements.
template <class F>
void parallel_rows(const std::vector<Loop>& loops, F&& f) {
  const Loop inner = loops.empty() ? Loop{} : loops.back();
  const std::vector<Loop> outer(loops.begin(), loops.empty() ? loops.end() : loops.end() - 1);
  const i64 pieces = (inner.n + kBlock - 1) / kBlock, tasks = size_of(outer) * pieces;
  parallel_for(tasks, std::max<i64>(1, kBlock / std::max<i64>(1, inner.n)), [&](i64 task) {
    auto at = offsets(outer, task / pieces);
    const i64 begin = task % pieces * kBlock;
    for (int o = 0; o < kMaxOperands; ++o) at[o] += begin * inner.stride[o];
    f(at, std::min(kBlock, inner.n - begin));
  });
}

}  // namespace megalith::cpu
