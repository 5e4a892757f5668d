// Products of experts' rows on Hopper's tensor cores: bf16 with sums in f32. Persistent clusters of two blocks take
// tiles of 128 x 256 in an order that the second-level cache likes, until none is left; they read on the device where
// experts' rows end. Which block computes a tile changes nothing in it, so the bits are the same every run.
#pragma once
#include "exec/cuda/kernels/experts/grouped_product.h"

namespace megalith::cuda {

// Of what grouped_fits() allows. `ticket`: an int of the workspace. sms: multiprocessors that it takes.
void launch_hopper(const GroupedLaunch& l, const GroupedBuffers& x, int* ticket, int sms, cudaStream_t stream);

}  // namespace megalith::cuda
