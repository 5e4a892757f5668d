// Codes of fp8 or fp4 back to values: what products of codes that the library lacks multiply.
#pragma once
#include "exec/cuda/device.h"

namespace megalith::cuda {

struct DecodeLaunch {
  static constexpr int kMostDims = 8;
  DType from = DType::f8_e4m3;  // f8_e5m2; u8: e2m1, one a byte
  DType to = DType::bf16;       // or f32
  i64 n = 0;
  int dims = 0;
  // Of a dim: its size, that of a box, and how far the scales of neighbouring boxes are apart.
  i64 size[kMostDims] = {}, box[kMostDims] = {}, stride[kMostDims] = {};
};
// Scales [rows, columns] of these strides, the rows of several parts, into rows `pitch` apart; what fills them up is 0.
struct OrderLaunch {
  i64 rows = 0, columns = 0, pitch = 0, row_stride = 0, column_stride = 0, rows_of_part = 0, part_stride = 0;
};
void launch(const OrderLaunch& l, const float* scale_inv, float* to, cudaStream_t stream);

void launch(const DecodeLaunch& l, const std::byte* codes, const float* scale_inv, std::byte* to, cudaStream_t stream);

}  // namespace megalith::cuda
