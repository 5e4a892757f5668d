// Kernels for a product of parts (exec/cuda_needs/parts_product.h).
#pragma once
#include "exec/cuda/device.h"

namespace megalith::cuda {

// x [rows, columns] f32 -> parts [rows, 3, columns] bf16, whose sum it is.
void launch_split(i64 rows, i64 columns, const float* x, void* parts, cudaStream_t stream);
// y = y1 + y2 + .. of sums [parts, n], the last first, + plus if it is not null. y and plus are f32 or bf16; plus may
// be y.
void launch_add_parts(i64 n, int parts, const float* sums, const void* plus, void* y, DType dtype, cudaStream_t stream);

}  // namespace megalith::cuda
