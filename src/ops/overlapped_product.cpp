#include "ops/overlapped_product.h"

#include "ops/delayed_scale.h"

namespace megalith {

std::vector<Type> OverlappedProduct::infer(const InferArgs& a) const {
  if (!gathers() && move.transfer != Transfer::reduce_scatter)
    fail("[{}] overlaps {}: want all_gather or reduce_scatter", name, name_of(move.transfer));
  InferArgs first = a;
  if (gathers()) {
    first.ins[0] = move.infer({a.mesh, {a.ins.at(0)}, {a.wants_grad.at(0)}}).at(0);
    return {product.infer(first).at(0), first.ins[0]};
  }
  const Type whole = product.infer(first).at(0);
  return {move.infer({a.mesh, {whole}, {a.wants_grad.at(0)}}).at(0), whole};
}

Cost OverlappedProduct::cost(Types ins, Types outs) const {
  Cost all;
  for (const OpPart<Type>& part : parts_of<Type>(*this, ins, outs)) {
    const Cost c = part.op.cost(part.ins, part.outs);
    all.flops += c.flops, all.bytes += c.bytes;
  }
  return all;
}

const Relayout* relayout_of(const AnyOp& op) {
  if (const auto* amax = op.get_if<SharedAmax>()) return &amax->move;
  if (const auto* both = op.get_if<OverlappedProduct>()) return &both->move;
  return op.get_if<Relayout>();
}

}  // namespace megalith
