// Some rows of a product, read back: whether another way to compute it gives the same but for rounding.
#pragma once
#include <vector>

#include "exec/cuda/device.h"
#include "ops/einsum_plan.h"

namespace megalith::cuda {

// Sets every byte of y. 0xFF makes numbers that are none, in f32 and bf16.
void cover(std::byte* y, const GemmSpec& spec, int byte, cudaStream_t stream);
// Up to 64 rows of y, evenly spread. Waits.
std::vector<float> some_rows(const std::byte* y, const GemmSpec& spec, cudaStream_t stream);

// Whether all of `b` is close to `a`: within what orders of sums and rounding to y's type can explain, far below what a
// missing or misplaced tile changes. A NaN is close to nothing.
bool alike(const std::vector<float>& a, const std::vector<float>& b, DType dtype);

}  // namespace megalith::cuda
