// Kernel of GroupedProduct. An expert's number of rows is known only at run time, but products are prepared earlier. So
// one product is prepared for each power of two of rows. An expert's rows are split into powers of two, the largest
// first.
#include <bit>

#include "base/threads.h"
#include "exec/cpu/kernel.h"
#include "exec/cpu/kernels/matmul.h"

namespace megalith::cpu {

namespace {

constexpr i64 kMost = 4096;  // most rows of one product

struct Operand {
  i64 row = 0, expert = 0;  // bytes of a row and of an expert's part; 0: none
};

struct Products {
  std::vector<MatMul> of;  // by log2 of the rows
  i64 workspace = 0;
};

// The product for `rows` rows.
GemmSpec gemm_of(const GroupedShape& s, const std::array<DType, 3>& types, i64 rows) {
  const Matrix y{types[2], s.sums ? s.in : s.out, 1};
  if (s.sums)  // y [out, in] = a^T [out, rows] b [rows, in]
    return {s.out, s.in, rows, {types[0], 1, s.out}, {types[1], s.in, 1}, y};
  const Matrix w = s.transposed ? Matrix{types[1], s.out, 1} : Matrix{types[1], 1, s.in};
  return {rows, s.out, s.in, {types[0], s.in, 1}, w, y};
}

Products make_products(const GroupedShape& s, const std::array<DType, 3>& types) {
  Products out;
  for (i64 rows = 1; rows <= std::min(s.bound, kMost); rows *= 2) {
    out.of.push_back(make_row_matmul(gemm_of(s, types, rows)));
    out.workspace = std::max(out.workspace, out.of.back().workspace);
  }
  return out;
}

// Calls f(product, first row) for pieces of rows [begin, end).
template <class F>
void each_piece(const Products& p, i64 begin, i64 end, F&& f) {
  while (begin < end) {
    const size_t log = std::min(size_t(std::bit_width(u64(end - begin))) - 1, p.of.size() - 1);
    f(p.of[log], begin);
    begin += i64(1) << log;
  }
}

}  // namespace

Kernel prepare(const GroupedProduct& op, const KernelContext& context) {
  const std::vector<Type> ins = {local_type(context.mesh, context.ins[0]), local_type(context.mesh, context.ins[1]),
                                 local_type(context.mesh, context.ins[2])};
  const GroupedShape s = grouped_shape(op, ins);
  const std::array<DType, 3> types = {ins[0].dtype, ins[1].dtype, context.outs[0].dtype};
  const i64 x = size_of(types[0]), w = size_of(types[1]), y = size_of(types[2]), matrix = s.out * s.in;
  const Operand first{(s.sums ? s.out : s.in) * x, 0};
  const Operand second = s.sums ? Operand{s.in * w, 0} : Operand{0, matrix * w};
  const Operand result = s.sums ? Operand{0, matrix * y} : Operand{s.out * y, 0};
  const Products products = make_products(s, types);
  return {products.workspace, [=, starts = op.starts, accumulate = op.accumulate](const Args& a) {
            const bool adds = accumulate && !(a.first_micro_batch && starts);
            const i32* ends = a.in<i32>(2);
            for (i64 e = 0; e < s.experts; ++e) {
              const i64 begin = e ? ends[e - 1] : 0, end = ends[e];
              std::byte* of_expert = a.outs[0] + e * result.expert;
              if (s.sums && begin == end && !adds)
                parallel_ranges(result.expert, 4096,
                                [&](i64 b, i64 e) { std::fill(of_expert + b, of_expert + e, std::byte(0)); });
              each_piece(products, begin, end, [&](const MatMul& product, i64 row) {
                product.run(a.ins[0] + row * first.row, a.ins[1] + row * second.row + e * second.expert,
                            of_expert + row * result.row, adds || (s.sums && row > begin), a.workspace);
              });
            }
          }};
}

}  // namespace megalith::cpu
