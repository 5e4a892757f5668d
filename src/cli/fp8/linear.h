// One linear layer in a file of vectors: x [tokens, in], w [out, in], dy [tokens, out], in bf16, with the products of
// the dequantized values: y = x w^T, dx = dy w, dw = dy^T x.
#pragma once
#include "cli/fp8/vector_check.h"

namespace megalith::fp8 {

struct Values {
  std::vector<bf16> at;
  i64 rows = 0, cols = 0;

  quant::In<bf16> matrix() const { return {at, rows, cols}; }
  Values transposed() const;
};

struct Linear {
  Values x, w, dy;
};

// Error if the shapes do not fit one layer, or if `multiple` does not divide each.
Linear read_linear(VectorFile& file, i64 multiple);

// fp8 codes [rows, cols] and their scales, for blocks of height x width.
struct Quantized {
  quant::Fp8 format = quant::Fp8::e4m3;
  std::vector<u8> codes;
  i64 rows = 0, cols = 0, height = 1, width = 1;
  std::vector<float> scale_inv;

  quant::Operand operand() const;
  Quantized transposed() const;
};

// The allowed error of rotated values. plain: before the rotation. Both have 16 tokens in a row.
std::vector<double> rotation_bounds(const Values& theirs, const Values& plain);

}  // namespace megalith::fp8
