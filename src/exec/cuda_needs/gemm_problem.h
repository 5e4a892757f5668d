// A matrix product for cuBLASLt: all that its algorithms and their workspace depend on.
#pragma once
#include <array>
#include <optional>
#include <string>

#include "exec/cuda_needs/local_node.h"
#include "ops/einsum.h"
#include "ops/einsum_plan.h"

namespace megalith::cuda {

// The values with one scale in an operand of codes: all, 128 along the sum, or 128 x 128. Orders as in
// quant/scale_order.h.
enum class CodeScales : u8 { one, rows, squares };

struct GemmProblem {
  GemmSpec spec;  // `c` describes y, and the added matrix
  i64 batch = 1;
  std::array<i64, 3> batch_stride{};  // of a, b and y, in elements
  bool adds = false;                  // whether run() will be given a matrix to add
  bool bias = false;                  // whether run() will be given a bias
  i64 alignment = 256;                // bytes; it divides run()'s addresses
  CodeScales a_scales = CodeScales::one, b_scales = CodeScales::one;
  bool fast = false;  // for codes: partial sums may keep fewer bits than f32 has
};

std::string to_string(const GemmProblem& problem);

// A batch over several loops. The library runs the longest one; the others are separate calls.
struct ProductBatch {
  Loop inside;
  std::vector<Loop> calls;
};
ProductBatch split_batch(std::vector<Loop> loops);

// Whether an operand has fp8 codes, with a scale in device memory.
constexpr bool is_coded(DType t) { return t == DType::f8_e4m3 || t == DType::f8_e5m2; }

// Whether the library supports this kind of product. Either operands are f32, bf16 or f16, of one type, dense along
// rows or columns. Then y has that type or f32. Or operands are fp8 codes with a dense summed dim, and y is bf16, f16
// or f32. It may still not support the sizes.
bool is_library_kind(const GemmProblem& problem);

EinsumOperands operands_of(const Einsum& op, const LocalNode& node);
// The library's product for each call of an einsum, if it supports one.
std::optional<GemmProblem> product_of(const Einsum& op, const EinsumPlan& plan, const LocalNode& node);

}  // namespace megalith::cuda
