// One rank's part in a relayout: the ranks with which it exchanges boxes, whether boxes have the library's layout,
// and the workspace for copies of them.
#pragma once
#include <vector>

#include "exec/cuda_needs/local_node.h"
#include "graph/relayout_op.h"
#include "mesh/pieces.h"

namespace megalith::cuda {

struct RelayoutBoxes {
  std::vector<int> members;  // the group, in the mesh's order
  int me = 0;
  std::vector<std::vector<Box>> outgoing, incoming;  // by member
  i64 in_bytes = 0, out_bytes = 0;
  bool direct = false;  // for gathers and scatters: the whole is the concatenation of the parts
  i64 workspace = 0;    // bytes
  // Its part for what the other members send for a sum on a lane (exec/cuda/comms.h): the offset. -1: there is none.
  i64 room = -1;

  RelayoutBoxes(const Relayout& op, const LocalNode& node);
};

inline std::byte* room_in(std::byte* workspace, const RelayoutBoxes& boxes) {
  return boxes.room < 0 ? nullptr : workspace + boxes.room;
}

// Size of a packed message: a multiple of whole words.
constexpr i64 packed_bytes(i64 bytes) { return (bytes + 15) / 16 * 16; }

}  // namespace megalith::cuda
