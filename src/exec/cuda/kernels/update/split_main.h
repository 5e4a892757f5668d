// Splits n f32 values into the nearest bf16 and the low half (ops/split_main.h).
#pragma once
#include "exec/cuda/device.h"

namespace megalith::cuda {

// low_half: may be nullptr. Any alignment.
void launch_split_main(const float* x, void* bf16_half, u16* low_half, i64 n, cudaStream_t stream);

}  // namespace megalith::cuda
