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

// bf16 where the CPU is faster in it (AMX, or AMD's avx512_bf16): oneDNN. All else: Gemm. Against oneDNN on an Emerald
// Rapids without AMX it is 5 to 10% faster in f32, and twice as fast in bf16. On a Zen 4, layers of GPT-2 at 4 x 64
// take a third less time in bf16 by oneDNN than by Gemm.
MatMul make_matmul(const GemmSpec& spec);
bool has_fast_bf16();  // this CPU is faster in bf16

// The two means. oneDNN's has none for f64, mixed inputs, or operands without a dense dim.
MatMul own_matmul(const GemmSpec& spec);
std::optional<MatMul> onednn_matmul(const GemmSpec& spec);

// Memory that the products use besides their workspaces while they run, on all threads. Measured: oneDNN reports only
// the implementation.
i64 packed_bytes();

}  // namespace megalith::cpu
