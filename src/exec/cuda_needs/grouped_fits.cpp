#include "exec/cuda_needs/grouped_fits.h"

#include <algorithm>
#include <limits>

#include "exec/cuda_needs/lane_blocks.h"
#include "mesh/groups.h"

namespace megalith::cuda {

GroupedShape grouped_shape(const GroupedProduct& op, const LocalNode& node) {
  std::vector<Type> ins;
  for (int i = 0; i < 3; ++i) ins.push_back(local_type(node.mesh, node.ins[size_t(i)]));
  return grouped_shape(op, ins);
}

bool grouped_fits(const GroupedProduct& op, const LocalNode& node) {
  const GroupedShape s = grouped_shape(op, node);
  if (node.gpu.capability != 90 || node.ins[0].dtype != DType::bf16 || node.ins[1].dtype != DType::bf16) return false;
  if (node.outs[0].dtype != (s.sums ? DType::f32 : DType::bf16) || (op.accumulate && !s.sums)) return false;
  constexpr i64 kMost = std::numeric_limits<i32>::max() / 2;  // rows and tiles are counted in 32 bits
  const bool some = s.experts > 0 && s.bound > 0 && s.out > 0 && s.in > 0;
  const i64 tiles = (s.experts + s.bound / 128) * (s.out / 128 + 1) * (s.sums ? s.in / 256 + 1 : 1);
  return some && s.out % 8 == 0 && s.in % 8 == 0 && s.bound < kMost && s.out < kMost && s.in < kMost && tiles < kMost;
}

int grouped_multiprocessors(const GroupedProduct& op, const LocalNode& node) {
  const bool beside_transfers = op.sums_rows() && node.mesh.n({groups::expert, groups::expert_tensor}) > 1;
  return beside_transfers ? std::max(node.gpu.sms - kLaneBlocks, node.gpu.sms / 2) : node.gpu.sms;
}

}  // namespace megalith::cuda
