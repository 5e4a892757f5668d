// How an einsum is computed: mostly as one matrix product (or one for each of a batch). It needs no copies, since
// merged letters are a matrix's rows and columns with any strides. Products of equal shapes and their sums have loops
// of their own; the rest goes number by number.
#pragma once
#include "base/dtype.h"
#include "ops/loops.h"

namespace megalith {

struct Matrix {
  DType dtype = DType::f32;
  i64 row = 0, col = 1;  // strides, in elements
};

// c = a b, or c + a b.
struct GemmSpec {
  i64 m = 0, n = 0, k = 0;
  Matrix a, b, c;  // [m,k], [k,n], [m,n]; c.col must be 1
};

struct EinsumPlan {
  enum Kind { kNothing, kGemm, kMultiply, kDot, kLoops } kind = kNothing;
  GemmSpec gemm;            // of kGemm
  bool swapped = false;     // w is the left operand
  std::vector<Loop> outer;  // of kGemm: the batch; else of y. Strides of x, w, y
  std::vector<Loop> inner;  // the sums
};

struct EinsumOperands {
  Lettered x, w, y;
  std::array<DType, 3> dtypes;
};

EinsumPlan plan_einsum(const EinsumOperands& ops);

}  // namespace megalith
