// The time of an overlapped product (ops/overlapped_product.h) from those of its two ops.
#pragma once
#include <algorithm>

#include "exec/sim/clock.h"
#include "ops/overlapped_product.h"

namespace megalith::sim {

// `each`: the Took of one of the two ops, as an instruction. n ranks share the transfer. The rows of each other rank
// arrive, or are sent, while those of one rank are multiplied. What takes longer than that is exposed. `parts`:
// they move one by one. If not, a gather overlaps the product of the rank's own rows only. A sum then overlaps nothing.
template <class Each>
Took overlapped_time(const OverlappedProduct& op, const Instruction& in, int n, bool parts, const Each& each) {
  Took product, move;
  for (const OpPart<int>& part : parts_of<int>(op, in.ins, in.outs)) {
    Instruction one = in;
    one.op = part.op, one.ins = part.ins, one.outs = part.outs;
    (part.op.get_if<Relayout>() ? move : product) = each(one);
  }
  product.wire_bytes = move.wire_bytes;
  const int beside = parts ? n - 1 : op.gathers() ? 1 : 0;  // products that the transfer overlaps
  product.transfer = std::max(0.0, move.transfer - product.work * beside / n);
  return product;
}

}  // namespace megalith::sim
