// A prepared matrix product, by the fastest means for its types on this CPU.
#pragma once
#include <functional>
#include <optional>

#include "exec/cpu/kernels/gemm.h"

namespace megalith::cpu {

struct MatMul {
  i64 workspace = 0;  // bytes
  // a, b, c, add, workspace: c = a b, or c + a b with `add`.
  std::function<void(const std::byte*, const std::byte*, std::byte*, bool, std::byte*)> run;
};

// f32: oneDNN. bf16: oneDNN where the CPU multiplies bf16 matrices in tiles (AMX), else Gemm: its conversion while
// packing gives the speed of f32, and oneDNN's AVX-512 bf16 half of that (measured on an Emerald Rapids without AMX).
// All else, f64 and odd strides: Gemm.
MatMul make_matmul(const GemmSpec& spec);

// The two means. oneDNN's has none for f64, mixed inputs, or operands without a dense dim.
MatMul own_matmul(const GemmSpec& spec);
std::optional<MatMul> onednn_matmul(const GemmSpec& spec);

}  // namespace megalith::cpu
