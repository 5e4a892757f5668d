// Workspace of Quantize: a scale for each box that has one of its own.
#pragma once
#include "exec/cuda_needs/local_node.h"
#include "ops/quantize.h"

namespace megalith::cuda {

inline bool has_box_scales(const Quantize& op) {
  return op.scaling == Scaling::power_of_two || op.scaling == Scaling::mx || op.scaling == Scaling::nv;
}
inline i64 quantize_bytes(const Quantize& op, const LocalNode& node) {
  return has_box_scales(op) ? count(node.out_shape(1)) * i64(sizeof(float)) : 0;
}

}  // namespace megalith::cuda
