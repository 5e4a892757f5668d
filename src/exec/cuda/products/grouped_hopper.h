// Products of experts' rows on Hopper's tensor cores: bf16 with sums in f32. Persistent clusters of two blocks take
// tiles of 128 x 256 until none is left. The order of tiles suits the second-level cache. The device has the ends of
// experts' rows. A tile's result does not depend on the block that computes it. So the bits are the same in every run.
#pragma once
#include "exec/cuda/kernels/experts/grouped_product.h"

namespace megalith::cuda {

// For products that grouped_fits() allows. `ticket`: an int of the workspace. sms: number of multiprocessors to use.
void launch_hopper(const GroupedLaunch& l, const GroupedBuffers& x, int* ticket, int sms, cudaStream_t stream);

// The same for fp8 codes whose summed dims are last in both operands.
void launch_hopper_codes(const GroupedLaunch& l, const GroupedBuffers& x, int* ticket, int sms, cudaStream_t stream);

}  // namespace megalith::cuda
