// The separate ops of a CodedResult that no kernel computes as one. The values between them are at the beginning of the
// workspace.
#pragma once
#include "exec/cuda_needs/local_node.h"
#include "ops/coded_result.h"

namespace megalith::cuda {

inline i64 values_bytes(const CodedResult& op, const LocalNode& node) {
  if (!op.op) return 0;
  constexpr i64 kAlign = 256;
  return (count(local_shape(node.mesh, op.values.shape, op.values.layout)) * size_of(op.values.dtype) + kAlign - 1) /
         kAlign * kAlign;
}
inline std::vector<Type> ins_of(const CodedResult& op, const CodedResult::Part& part, const LocalNode& node) {
  return of_part<Type>(part.ins, node.ins, op.values);
}
inline std::vector<Type> outs_of(const CodedResult& op, const CodedResult::Part& part, const LocalNode& node) {
  return of_part<Type>(part.outs, node.outs, op.values);
}

}  // namespace megalith::cuda
