// The time of an overlapped product (ops/overlapped_product.h) from those of its two ops.
#pragma once
#include <algorithm>

#include "exec/sim/clock.h"
#include "ops/overlapped_product.h"

namespace megalith::sim {

// `each`: the Took of one of the two ops, as an instruction. n ranks share the transfer. The rows of each other rank
// arrive, or are sent, while those of one rank are multiplied. What takes longer than that is exposed.
template <class Each>
Took overlapped_time(const OverlappedProduct& op, const Instruction& in, int n, const Each& each) {
  Took product, move;
  for (const OpPart<int>& part : parts_of<int>(op, in.ins, in.outs)) {
    Instruction one = in;
    one.op = part.op, one.ins = part.ins, one.outs = part.outs;
    (part.op.get_if<Relayout>() ? move : product) = each(one);
  }
  product.wire_bytes = move.wire_bytes;
  if (n > 1) product.transfer = std::max(0.0, move.transfer - product.work * (n - 1) / n);
  return product;
}

}  // namespace megalith::sim
