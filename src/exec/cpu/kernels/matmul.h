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

// oneDNN computes bf16 products on CPUs with AMX. Gemm computes all others, by pairs on AMD CPUs with avx512_bf16. On
// an Emerald Rapids without AMX, Gemm is 5 to 10% faster than oneDNN in f32. In bf16 it is twice as fast. Where Gemm
// multiplies pairs, oneDNN computes products with one row: it packs nothing, and reads weights twice as fast.
MatMul make_matmul(const GemmSpec& spec);
// The same, but a row of the result is the same to the bit whatever rows are multiplied with it.
MatMul make_row_matmul(const GemmSpec& spec);
bool has_fast_bf16();  // this CPU multiplies bf16 faster than f32

// The two implementations. onednn_matmul() has none for f64, mixed inputs, or operands without a dense dim. For bf16 it
// needs AVX-512. `pairs`: as for Gemm.
MatMul own_matmul(const GemmSpec& spec, bool pairs = false);
std::optional<MatMul> onednn_matmul(const GemmSpec& spec);

// Bytes that running products use besides their workspaces, on all threads. They are measured, because oneDNN reports
// only the implementation.
i64 packed_bytes();

}  // namespace megalith::cpu
