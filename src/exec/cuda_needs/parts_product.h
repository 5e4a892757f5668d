// A product of an f32 matrix a and a bf16 matrix b, computed as a product of bf16 matrices. Each number of a is the sum
// of three bf16 parts, with 8 of its 24 bits each. A part times a bf16 is exact in f32. So the sums are as exact as
// with f32 factors, at the rate of bf16. In memory a is [rows, columns], and its parts are [rows, 3, columns], the
// largest first.
//   k along a's columns:  y = [a1 a2 a3] [b; b; b]        three copies of b, one below the other
//   k along a's rows:     y = sum of the three of [y1; y2; y3] = [a1 a2 a3]^T b
#pragma once
#include "exec/cuda_needs/gemm_problem.h"

namespace megalith::cuda {

struct PartsProduct {
  GemmProblem product;  // of bf16 factors
  i64 rows = 0, columns = 0;
  bool adds_parts = false;   // the second form: the product's results are y1, y2 and y3 in f32
  i64 copies = 0, sums = 0;  // numbers of b's copies, or of y1 to y3

  i64 parts_bytes() const { return padded(3 * rows * columns * size_of(DType::bf16)); }
  i64 copies_bytes() const { return padded(copies * size_of(DType::bf16)); }
  i64 sums_bytes() const { return padded(sums * size_of(DType::f32)); }
  // Workspace: parts, then copies or sums, then the workspace of the product's algorithm.
  i64 bytes() const { return parts_bytes() + copies_bytes() + sums_bytes(); }

 private:
  static i64 padded(i64 bytes) { return (bytes + 255) / 256 * 256; }
};

// {} if a or b has another type or is not dense, or if a bias is added.
std::optional<PartsProduct> parts_product(const GemmProblem& problem);

}  // namespace megalith::cuda
