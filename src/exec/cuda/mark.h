// One number from the device into the host's memory, in its place in a stream.
#pragma once
#include "exec/cuda/device.h"

namespace megalith::cuda {

void launch_mark(u32* word, u32 value, cudaStream_t stream);

}  // namespace megalith::cuda
