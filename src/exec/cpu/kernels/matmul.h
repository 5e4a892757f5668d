// A prepared matrix product with the fastest implementation for its types on this CPU.
#pragma once
#include <functional>
#include <optional>

#include "exec/cpu/kernels/gemm.h"

namespace megalith::cpu {

struct MatMul {
  i64 workspace = 0;  // bytes
  // Arguments: a, b, c, add, workspace. c = a b, or c += a b with `add`.
  std::function<void(const std::byte*, const std::byte*, std::byte*, bool, std::byte*)> run;
};

// oneDNN computes bf16 products if the CPU has fast bf16 (AMX, or AMD's avx512_bf16). Gemm computes all others. On an
// Emerald Rapids without AMX, Gemm is 5 to 10% faster than oneDNN in f32. In bf16 it is twice as fast. On a Zen 4,
// oneDNN takes a third less time than Gemm for GPT-2's layers (4 x 64, bf16).
MatMul make_matmul(const GemmSpec& spec);
// A row of its result is the same to the bit whatever rows are multiplied with it. oneDNN's bf16 products by
// avx512_bf16 are not (seen with 32 of 301 rows, k 800), those by AMX are.
MatMul make_row_matmul(const GemmSpec& spec);
bool has_fast_bf16();  // this CPU multiplies bf16 faster than f32

// The two implementations. onednn_matmul() has none for f64, mixed inputs, or operands without a dense dim. For bf16 it
// needs AVX-512.
MatMul own_matmul(const GemmSpec& spec);
std::optional<MatMul> onednn_matmul(const GemmSpec& spec);

// Bytes that running products use besides their workspaces, on all threads. They are measured, because oneDNN reports
// only the implementation.
i64 packed_bytes();

}  // namespace megalith::cpu
