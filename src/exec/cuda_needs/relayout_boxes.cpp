#include "exec/cuda_needs/relayout_boxes.h"

#include <algorithm>

#include "exec/cuda_needs/symmetric_needs.h"
#include "mesh/groups.h"

namespace megalith::cuda {

// Whether the members' parts, in their memory order, are consecutive in the whole.
static bool in_order(const std::vector<std::vector<Box>>& parts, i64 part_bytes, i64 Box::*place, i64 size) {
  for (size_t k = 0; k < parts.size(); ++k)
    if (parts[k].size() != 1 || !parts[k][0].dense() || parts[k][0].*place * size != i64(k) * part_bytes) return false;
  return true;
}

RelayoutBoxes::RelayoutBoxes(const Relayout& op, const LocalNode& node) {
  const i64 size = size_of(node.ins[0].dtype);
  in_bytes = count(node.in_shape(0)) * size, out_bytes = count(node.out_shape(0)) * size;
  members = op.group(node.mesh, node.coord);
  const int self = node.mesh.rank(node.coord);
  me = int(std::ranges::find(members, self) - members.begin());
  const auto block = [&](const Type& t, int rank) {
    return block_of(node.mesh, t.shape, t.layout, node.mesh.coord(rank));
  };
  const Block in = block(node.ins[0], self), out = block(node.outs[0], self);
  const bool whole = op.transfer == Transfer::all_reduce || op.transfer == Transfer::all_reduce_max;
  for (int k = 0; k < int(members.size()) && !whole; ++k) {
    const bool apart = is_local(op.transfer) && k != me;
    outgoing.push_back(apart ? std::vector<Box>{} : common_boxes(in, block(node.outs[0], members[size_t(k)])));
    incoming.push_back(apart ? std::vector<Box>{} : common_boxes(block(node.ins[0], members[size_t(k)]), out));
  }
  if (op.transfer == Transfer::all_gather) {
    direct = in_order(incoming, in_bytes, &Box::to, size);
    workspace = direct ? 0 : out_bytes;
  } else if (op.transfer == Transfer::reduce_scatter) {
    direct = in_order(outgoing, out_bytes, &Box::from, size);
    workspace = direct ? 0 : packed_bytes(in_bytes);
    // Of gradients many may be under way at once, and their rooms would take too much memory.
    if (op.lane && groups::tensor.has(op.axes) && members.size() > 2 && may_be_symmetric(members.size()))
      room = workspace, workspace += (i64(members.size()) - 2) * out_bytes;
  } else if (op.transfer == Transfer::all_to_all) {
    workspace = packed_bytes(in_bytes) + packed_bytes(out_bytes) + 2 * packed_bytes(1) * i64(members.size());
  }
}

}  // namespace megalith::cuda
