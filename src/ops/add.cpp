#include "ops/add.h"

#include "ops/sum.h"

namespace megalith {

std::vector<Value> Add::grad(Builder& b, const Node& n, std::span<const Value> dys) const {
  const auto [ins, outs] = split_spec(spec);
  const Value y = n.ins[1];
  if (!b.wants_grad(y)) return {dys[0], {}};
  const bool plain = ins[0] == ins[1] && b.type(dys[0]).dtype == b.grad_dtype(y);
  return {dys[0], plain ? dys[0] : b.add1(Sum{outs[0] + "->" + ins[1], b.grad_dtype(y)}, {dys[0]})};
}

Value add(Builder& b, const std::string& spec, Value x, Value y) { return b.add1(Add{spec}, {x, y}); }

}  // namespace megalith
