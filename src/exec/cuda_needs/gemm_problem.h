// One of the matrix products that cuBLASLt makes: what its algorithms, and their workspace, depend on.
#pragma once
#include <array>
#include <optional>
#include <string>

#include "exec/cuda_needs/local_node.h"
#include "ops/einsum.h"
#include "ops/einsum_plan.h"

namespace megalith::cuda {

// What one scale covers in an operand of codes: all, 128 numbers along the sum, or 128 x 128. In the orders of
// quant/scale_order.h.
enum class CodeScales : u8 { one, rows, squares };

struct GemmProblem {
  GemmSpec spec;  // `c` describes y, and the added matrix
  i64 batch = 1;
  std::array<i64, 3> batch_stride{};  // of a, b and y, in elements
  bool adds = false;                  // whether run() will be given a matrix to add
  bool bias = false;                  // whether run() will be given a bias
  i64 alignment = 256;                // bytes; run()'s addresses are multiples of it
  CodeScales a_scales = CodeScales::one, b_scales = CodeScales::one;
  bool fast = false;  // of codes: partial sums may keep fewer bits than f32 has
};

std::string to_string(const GemmProblem& problem);

// A batch over several loops: the longest is the library's, the others are calls of their own.
struct ProductBatch {
  Loop inside;
  std::vector<Loop> calls;
};
ProductBatch split_batch(std::vector<Loop> loops);

// Whether an operand has fp8 codes, with a scale in device memory.
constexpr bool is_coded(DType t) { return t == DType::f8_e4m3 || t == DType::f8_e5m2; }

// Whether the library has this kind of product. f32 or bf16 operands of one type, y of that type or f32; a and b
// dense along rows or columns. Or fp8 codes, y bf16 or f32; the summed dim is dense. It may still lack the sizes.
bool is_library_kind(const GemmProblem& problem);

EinsumOperands operands_of(const Einsum& op, const LocalNode& node);
// The library's product for an einsum, if there is one: for each call of it.
std::optional<GemmProblem> product_of(const Einsum& op, const EinsumPlan& plan, const LocalNode& node);

}  // namespace megalith::cuda
