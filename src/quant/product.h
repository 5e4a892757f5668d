// Products of quantized matrices on the CPU, the reference for a GPU's products.
#pragma once
#include <vector>

#include "quant/matrix.h"

namespace megalith::quant {

// values [rows, k], decoded without their scales; scale_inv [ceil(rows / height), ceil(k / width)]: a value is
// values(r, c) * scale_inv(r / height, c / width).
struct Operand {
  std::vector<float> values;
  i64 rows = 0, k = 0;
  std::vector<double> scale_inv;
  i64 height = 1, width = 1;

  double scale(i64 r, i64 c) const { return scale_inv[size_t(r / height * blocks_of(k, width) + c / width)]; }
};

// out [a.rows, b.rows] = a b^T. A run of k, at most 128 long, has one scale of each operand, and is summed in f32. The
// scaled runs are added in f64, and the result is rounded once. sums: like out, of absolute products, in f64.
struct Product {
  std::vector<float> out;
  std::vector<double> sums;
};
Product multiply(const Operand& a, const Operand& b);

}  // namespace megalith::quant
