// How a product of codes is computed on a GPU: with one scale an operand, or for blocks of 128, as one of cuBLASLt's
// products of fp8. Else both operands are decoded, and their values multiplied.
#pragma once
#include <optional>

#include "exec/cuda_needs/gemm_problem.h"
#include "ops/quantize.h"

namespace megalith::cuda {

// An operand's scales in the library's order: [rows, columns], rows `pitch` apart, and the position of each in
// scale_inv. The rows are one part or several, which are part_stride apart there.
struct ScaleOrder {
  i64 rows = 0, columns = 0, pitch = 0;
  i64 row_stride = 0, column_stride = 0;
  i64 parts = 1, part_stride = 0;
  bool is_there() const { return column_stride == 1 && row_stride == pitch && parts == 1; }
  i64 bytes() const { return is_there() ? 0 : (rows * pitch * i64(sizeof(float)) + 255) / 256 * 256; }
};

struct CodeProduct {
  GemmProblem problem;
  bool swapped = false;       // w is the left operand
  ScaleOrder x = {}, w = {};  // of blocks
};

// Of one scale an operand. Nothing: the result has no elements. Error if the library does not take these sizes.
std::optional<CodeProduct> code_product(const QuantizedProduct& op, const LocalNode& node);

// Of blocks of 128. Nothing: of other boxes, or the library does not take these sizes.
std::optional<CodeProduct> block_product(const QuantizedProduct& op, const LocalNode& node);

// Whether both operands are fp8, with one scale for the rank's whole part.
bool has_two_scales(const QuantizedProduct& op, const LocalNode& node);

// The product of values. They are bf16 where the scales are powers of two, so that no bit is lost: of fp8. Else f32.
// The library has no product of f32 values with a bf16 result. So its sums are f32, and are rounded after it.
struct DecodedProduct {
  DType dtype = DType::f32;
  Einsum product;
  std::vector<Type> ins, outs;   // of the product
  i64 x_bytes = 0, w_bytes = 0;  // of the values, a multiple of 256 each
  i64 sums_bytes = 0;            // of f32 sums that are rounded to y; 0: the product writes y

  bool rounds() const { return sums_bytes > 0; }
};
DecodedProduct decoded_product(const QuantizedProduct& op, const LocalNode& node);

}  // namespace megalith::cuda
