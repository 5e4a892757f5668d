// Kernels of Embedding and EmbeddingGrad.
//
// The gradient sorts the tokens by id and keeps their order within an id. One thread sums the run of an id in token
// order. So no two threads write the same row.
#include <algorithm>
#include <cstring>

#include "exec/cpu/kernel.h"
#include "exec/cpu/kernels/elementwise.h"
#include "exec/cpu/kernels/strided.h"

namespace megalith::cpu {

namespace {

// The table's rows on this rank: ids first .. first + n - 1.
struct Rows {
  i64 first = 0, n = 0;
};

Rows rows_of(const KernelContext& context, int table) {
  const auto runs = index_runs(context.mesh, context.ins[table].shape, context.ins[table].layout, context.coord, 0);
  check(runs.size() == 1, "[embedding] the rows of a table must be split in blocks");
  return {runs[0].start, runs[0].length};
}

struct Sizes {
  i64 tokens, width;
  Rows rows;
};

// Writes sorted pairs (row of the table, token) for the ids on this rank. Returns the number of pairs.
i64 sort_tokens(const i32* ids, const Sizes& s, u64* out) {
  i64 n = 0;
  for (i64 t = 0; t < s.tokens; ++t)
    if (ids[t] >= s.rows.first && ids[t] < s.rows.first + s.rows.n)
      out[n++] = u64(ids[t] - s.rows.first) << 32 | u64(t);
  std::sort(out, out + n);
  return n;
}

// The begin of the first run at or after `i`.
i64 run_begin(const u64* sorted, i64 n, i64 i) {
  while (i > 0 && i < n && sorted[i] >> 32 == sorted[i - 1] >> 32) ++i;
  return i;
}

template <class X, class Y>
struct RowSums {
  const X* dy;
  const u64* sorted;
  i64 width;
  Y* table;
  bool add;
  u8* marks;  // by row: it has a value, so it is added to; null: `add` decides for all rows

  // Sums tokens sorted[begin, end) into their row of the table.
  void row(i64 begin, i64 end) const {
    using S = std::common_type_t<accum_t<X>, accum_t<Y>>;
    constexpr i64 kPart = 256;
    const i64 row = i64(sorted[begin] >> 32);
    const bool adds = marks ? marks[row] : add;
    Y* to = table + row * width;
    for (i64 c = 0; c < width; c += kPart) {
      const i64 n = std::min(kPart, width - c);
      S sum[kPart] = {};
      for (i64 t = begin; t < end; ++t) {
        const X* from = dy + i64(u32(sorted[t])) * width + c;
        map(n, kPlus, sum, sum, from);
      }
      if (adds)
        map(n, kPlus, to + c, to + c, sum);
      else
        map(n, kSame, to + c, sum);
    }
    if (marks) marks[row] = 1;
  }

  void rows(i64 begin, i64 end) const {
    for (i64 t = begin; t < end;) {
      i64 next = t + 1;
      while (next < end && sorted[next] >> 32 == sorted[t] >> 32) ++next;
      row(t, next);
      t = next;
    }
  }
};

template <class X, class Y>
Kernel make_grad(const EmbeddingGrad& op, const Sizes& s) {
  return {s.tokens * i64(sizeof(u64)), [op, s](const Args& a) {
            const bool add = op.accumulate && !(a.first_micro_batch && op.starts);
            u64* sorted = reinterpret_cast<u64*>(a.workspace);
            const i64 n = sort_tokens(a.in<i32>(0), s, sorted);
            Y* table = a.out<Y>(0);
            u8* marks = op.marks ? a.out<u8>(1) : nullptr;
            if (!add && marks)
              std::fill(marks, marks + s.rows.n, u8(0));
            else if (!add)
              parallel_blocks(s.rows.n * s.width,
                              [&](i64 begin, i64 end) { std::fill(table + begin, table + end, Y(0)); });
            const RowSums<X, Y> sums{a.in<X>(1), sorted, s.width, table, add, marks};
            parallel_ranges(
                n, 1, [&](i64 begin, i64 end) { sums.rows(run_begin(sorted, n, begin), run_begin(sorted, n, end)); });
          }};
}

}  // namespace

Kernel prepare(const Embedding&, const KernelContext& context) {
  const Sizes s{count(context.in_shape(0)), context.in_shape(1)[1], rows_of(context, 1)};
  const i64 bytes = s.width * size_of(context.ins[1].dtype);
  return {0, [s, bytes](const Args& a) {
            const i32* ids = a.in<i32>(0);
            parallel_for(s.tokens, 4, [&](i64 t) {
              const i64 row = ids[t] - s.rows.first;
              if (row >= 0 && row < s.rows.n)
                std::memcpy(a.outs[0] + t * bytes, a.ins[1] + row * bytes, bytes);
              else
                std::memset(a.outs[0] + t * bytes, 0, bytes);
            });
          }};
}

Kernel prepare(const EmbeddingGrad& op, const KernelContext& context) {
  const Sizes s{count(context.in_shape(0)), context.in_shape(1).back(), rows_of(context, 2)};
  return dispatch_float(context.ins[1].dtype, [&]<class X>() {
    return dispatch_float(context.outs[0].dtype, [&]<class Y>() { return make_grad<X, Y>(op, s); });
  });
}

}  // namespace megalith::cpu
