// How an einsum is computed: mostly as one matrix product (or one for each of a batch), without copies, since merged
// letters are a matrix's rows and columns with any strides. Products of equal shapes and their sums have loops of their
// own; the rest goes number by number.
#pragma once
#include "exec/cpu/kernels/gemm.h"
#include "exec/cpu/kernels/strided.h"

namespace megalith::cpu {

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

}  // namespace megalith::cpu
