// Some rows of a product, read back. They show whether two algorithms have the same result except for rounding.
#pragma once
#include <vector>

#include "exec/cuda/device.h"
#include "ops/einsum_plan.h"

namespace megalith::cuda {

// Sets every byte of y. 0xFF makes NaN in f32 and bf16.
void cover(std::byte* y, const GemmSpec& spec, int byte, cudaStream_t stream);
// Up to 64 rows of y, evenly spread. Waits.
std::vector<float> some_rows(const std::byte* y, const GemmSpec& spec, cudaStream_t stream);

// Whether all of `b` is close to `a`. Differences by order of sums and rounding to y's type are allowed. A missing or
// misplaced tile differs far more. NaN is never close.
bool alike(const std::vector<float>& a, const std::vector<float>& b, DType dtype);

}  // namespace megalith::cuda
