// Sums of x over some of its dims, in two stages: f64 partial sums of chunks of the summed numbers, then their sum.
#pragma once
#include "exec/cuda/device.h"
#include "exec/cuda_needs/sum_launch.h"

namespace megalith::cuda {

void launch(const SumLaunch& l, const void* x, void* y, void* workspace, cudaStream_t stream);
// If fits_hopper(): bf16 to f32 or bf16, with contiguous rows.
void launch_hopper(const SumLaunch& l, const void* x, void* y, cudaStream_t stream);

// The second stage of sums whose chunks another kernel has written (column_sums()).
void launch_finish(const SumLaunch& l, const double* partial, void* y, cudaStream_t stream);

}  // namespace megalith::cuda
