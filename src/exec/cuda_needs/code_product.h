// How a GPU computes a product of codes. With one scale an operand, or with blocks of 128, it is one of cuBLASLt's fp8
// products. Otherwise both operands are decoded, and their values are multiplied.
#pragma once
#include <optional>

#include "exec/cuda_needs/gemm_problem.h"
#include "ops/quantize.h"

namespace megalith::cuda {

// An operand's scales in the library's order: [rows, columns] with rows `pitch` apart, and the index of each scale in
// scale_inv. The rows come from one part or several, `part_stride` apart in scale_inv.
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
  ScaleOrder x = {}, w = {};  // for blocks
};

// For one scale an operand. Nothing if the result has no elements. Error if the library does not support these sizes.
std::optional<CodeProduct> code_product(const QuantizedProduct& op, const LocalNode& node);

// For blocks of 128. Nothing if boxes are others, or if the library does not support these sizes.
std::optional<CodeProduct> block_product(const QuantizedProduct& op, const LocalNode& node);

// Whether both operands are fp8, each with one scale for the rank's whole part.
bool has_two_scales(const QuantizedProduct& op, const LocalNode& node);

// The product of decoded values. For fp8 with power-of-two scales values are bf16, so no bit is lost; else they are
// f32. The library multiplies neither f32 values into a bf16 or f16 result, nor bf16 values into an f16 result. Then
// its sums are f32, and are rounded afterwards.
struct DecodedProduct {
  DType dtype = DType::f32;
  Einsum product;
  std::vector<Type> ins, outs;   // of the product
  i64 x_bytes = 0, w_bytes = 0;  // of the values, each a multiple of 256
  i64 sums_bytes = 0;            // f32 sums that are rounded to y; 0: the product writes y

  bool rounds() const { return sums_bytes > 0; }
};
DecodedProduct decoded_product(const QuantizedProduct& op, const LocalNode& node);

}  // namespace megalith::cuda
