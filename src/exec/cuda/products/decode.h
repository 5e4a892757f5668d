// Decodes fp8 or fp4 codes to values, for products of codes that the library does not have.
#pragma once
#include "exec/cuda/device.h"

namespace megalith::cuda {

struct DecodeLaunch {
  static constexpr int kMostDims = 8;
  DType from = DType::f8_e4m3;  // f8_e5m2; u8: e2m1, one a byte
  DType to = DType::bf16;       // or f32
  i64 n = 0;
  int dims = 0;
  // For each dim: its size, the size of a box, and the stride between scales of neighbouring boxes.
  i64 size[kMostDims] = {}, box[kMostDims] = {}, stride[kMostDims] = {};
};
// Copies scales [rows, columns] with these strides to rows `pitch` apart. The rows come from several parts. Padding is
// 0.
struct OrderLaunch {
  i64 rows = 0, columns = 0, pitch = 0, row_stride = 0, column_stride = 0, rows_of_part = 0, part_stride = 0;
};
void launch(const OrderLaunch& l, const float* scale_inv, float* to, cudaStream_t stream);

void launch(const DecodeLaunch& l, const std::byte* codes, const float* scale_inv, std::byte* to, cudaStream_t stream);

}  // namespace megalith::cuda
