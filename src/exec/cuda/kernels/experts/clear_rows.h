// Clears rows of experts that do not exist (ops/clear_rows.h). Their number is read on the device.
#pragma once
#include "exec/cuda/device.h"

namespace megalith::cuda {

// filled: the number of rows that exist. Rows of `bytes` each. If `to` is other memory, existing rows are copied there.
void launch_clear_rows(i64 rows, i64 bytes, const i32* filled, const void* from, void* to, cudaStream_t stream);

}  // namespace megalith::cuda
