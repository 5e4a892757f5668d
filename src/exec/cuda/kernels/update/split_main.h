// f32 values as the nearest bf16 and what those lack (ops/split_main.h), n of each.
#pragma once
#include "exec/cuda/device.h"

namespace megalith::cuda {

// rest: nullptr: not wanted. Any alignment.
void launch_split_main(const float* x, void* near, u16* rest, i64 n, cudaStream_t stream);

}  // namespace megalith::cuda
