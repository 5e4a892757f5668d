// Biases of experts' rows (ops/expert_bias.h), f32 or bf16. ends [experts]: the ends of the experts' rows, on the
// device.
#pragma once
#include "exec/cuda/device.h"

namespace megalith::cuda {

struct ExpertBiasLaunch {
  DType dtype;
  i64 bound, width, experts;  // maximum rows; width of a row
};
// y = x + bias of the row's expert, times its weight unless that is nullptr. y may be x.
struct ExpertBiasBuffers {
  const void *x, *bias;
  const i32* ends;
  const float* weights;
  void* y;
};
void launch_expert_bias(const ExpertBiasLaunch& l, const ExpertBiasBuffers& b, cudaStream_t stream);
// db [experts, width] in f32: sums of the rows x, times their weights unless those are null.
void launch_sum_expert_rows(const ExpertBiasLaunch& l, const void* x, const i32* ends, const float* weights, float* db,
                            cudaStream_t stream);
// dw [bound]: x . bias of each row.
void launch_dot_expert_bias(const ExpertBiasLaunch& l, const void* x, const void* bias, const i32* ends, float* dw,
                            cudaStream_t stream);

}  // namespace megalith::cuda
