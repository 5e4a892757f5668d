#include "exec/cuda_needs/grouped_fits.h"

#include <algorithm>
#include <limits>

#include "exec/cuda_needs/lane_blocks.h"
#include "mesh/groups.h"

namespace megalith::cuda {

namespace {

std::vector<Type> local_ins(const LocalNode& node) {
  std::vector<Type> ins;
  for (const Type& t : node.ins) ins.push_back(local_type(node.mesh, t));
  return ins;
}

// Rows and tiles are counted in 32 bits. columns: of a tile.
bool is_countable(const GroupedShape& s, i64 columns) {
  constexpr i64 kMost = std::numeric_limits<i32>::max() / 2;
  const bool some = s.experts > 0 && s.bound > 0 && s.out > 0 && s.in > 0;
  const i64 tiles = (s.experts + s.bound / 128) * (s.out / 128 + 1) * (s.sums ? s.in / columns + 1 : 1);
  return some && s.bound < kMost && s.out < kMost && s.in < kMost && tiles < kMost;
}

}  // namespace

GroupedShape grouped_shape(const GroupedProduct& op, const LocalNode& node) {
  return grouped_shape(op, local_ins(node));
}
GroupedShape grouped_shape(const QuantizedGroupedProduct& op, const LocalNode& node) {
  return grouped_shape(op, local_ins(node));
}

bool grouped_fits(const GroupedProduct& op, const LocalNode& node) {
  const GroupedShape s = grouped_shape(op, node);
  if (node.gpu.capability != 90 || node.ins[0].dtype != DType::bf16 || node.ins[1].dtype != DType::bf16) return false;
  if (node.outs[0].dtype != (s.sums ? DType::f32 : DType::bf16) || (op.accumulate && !s.sums)) return false;
  return is_countable(s, 256) && s.out % 8 == 0 && s.in % 8 == 0;
}

bool grouped_fits(const QuantizedGroupedProduct& op, const LocalNode& node) {
  const GroupedShape s = grouped_shape(op, node);
  if (node.gpu.capability != 90 || (!op.turned && (s.sums || s.transposed))) return false;
  if (node.outs[0].dtype != (s.sums ? DType::f32 : DType::bf16) || (op.accumulate && !s.sums)) return false;
  const bool whole_rows = s.sums ? s.bound % 16 == 0 && s.in % 4 == 0 : s.in % 16 == 0 && s.out % 8 == 0;
  return is_countable(s, 128) && whole_rows;
}

int grouped_multiprocessors(const GroupedProduct& op, const LocalNode& node) {
  const bool beside_transfers = op.sums_rows() && node.mesh.n({groups::expert, groups::expert_tensor}) > 1;
  return beside_transfers ? std::max(node.gpu.sms - kLaneBlocks, node.gpu.sms / 2) : node.gpu.sms;
}

}  // namespace megalith::cuda
