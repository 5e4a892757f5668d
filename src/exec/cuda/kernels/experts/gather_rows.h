// Moves tokens to rows of experts and back (ops/gather_rows.h). *count, on the device, has the number of rows.
#pragma once
#include "exec/cuda/device.h"

namespace megalith::cuda {

// rows [bound, h]: row r is x's row source[r].
struct GatherRowsLaunch {
  i64 bound, bytes;  // maximum rows; bytes of a row
};
void launch_gather(const GatherRowsLaunch& l, const i32* count, const i32* source, const void* x, void* rows,
                   cudaStream_t stream);

// y [tokens, h]: the sum of each token's rows, plus `plus` unless that is nullptr; f32 or bf16. plus may be y.
struct CombineRowsLaunch {
  DType dtype;
  i64 tokens, h, k;
};
void launch_combine(const CombineRowsLaunch& l, const i32* slots, const void* rows, const void* plus, void* y,
                    cudaStream_t stream);

// w[slots[i]] = p[i] and dp[i] = dw[slots[i]], or 0 without a row; f32, n slots.
void launch_gather_weights(i64 n, const i32* slots, const float* p, float* w, cudaStream_t stream);
void launch_gather_weights_grad(i64 n, const i32* slots, const float* dw, float* dp, cudaStream_t stream);

}  // namespace megalith::cuda
