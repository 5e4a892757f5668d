// f32 values as the nearest bf16 and what those lack (ops/split_main.h), n of each.
#pragma once
#include "exec/cuda/device.h"

namespace megalith::cuda {

// low_half: nullptr: not wanted. Any alignment.
void launch_split_main(const float* x, void* bf16_half, u16* low_half, i64 n, cudaStream_t stream);

}  // namespace megalith::cuda
