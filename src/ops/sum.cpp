#include "ops/sum.h"

namespace megalith {

std::vector<Value> Sum::grad(Builder& b, const Node& n, std::span<const Value> dys) const {
  const auto [ins, outs] = split_spec(spec);
  return {b.add1(Broadcast{outs[0] + "," + ins[0] + "->" + ins[0], b.grad_dtype(n.ins[0])}, {dys[0], n.ins[0]})};
}

Type sum_of_rows(const Mesh& mesh, const std::string& letters, const Type& x) {
  const Sum sum{letters + "->" + letters.back(), accum_of(x.dtype)};
  return infer_by_rule(sum.rule(), {mesh, {x}, {true}}, {sum.dtype})[0];
}

}  // namespace megalith
