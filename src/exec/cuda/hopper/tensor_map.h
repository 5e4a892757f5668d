// The copy engine's maps of tensors.
#pragma once
#include <cuda.h>

#include <span>
#include <string_view>

#include "base/dtype.h"

namespace megalith::cuda::hopper {

// A tensor in device memory as boxes of 128 bytes x `rows` in shared memory, permuted as hopper/copies.cuh says.
// sizes: of its 2 or 3 dimensions, the fastest first. strides: in bytes, of all but the fastest; multiples of 16. `at`:
// aligned to 16 bytes. bf16, f32 or codes of a byte. `who`: for errors.
CUtensorMap tensor_map(std::string_view who, const void* at, DType dtype, std::span<const i64> sizes,
                       std::span<const i64> strides, int rows);

}  // namespace megalith::cuda::hopper
