// How an einsum is computed: mostly as one matrix product, or one for each member of a batch. It needs no copies,
// because merged letters are a matrix's rows and columns with any strides. Elementwise products and their sums have
// their own loops. Other einsums are computed element by element.
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
  std::vector<Loop> outer;  // for kGemm the batch, else the loops of y. Strides of x, w, y
  std::vector<Loop> inner;  // the summed loops
};

struct EinsumOperands {
  Lettered x, w, y;
  std::array<DType, 3> dtypes;
};

EinsumPlan plan_einsum(const EinsumOperands& ops);

}  // namespace megalith
