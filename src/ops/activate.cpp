#include "ops/activate.h"

#include "ops/sum.h"

namespace megalith {

std::vector<Value> Activate::grad(Builder& b, const Node& n, std::span<const Value> dys) const {
  return {b.add1(ActivateGrad{act, ndim}, {dys[0], n.ins[0]})};
}

std::vector<Type> ActivateGrad::infer(const InferArgs& a) const {
  std::vector<Type> out = infer_by_rule(rule(), a, {});
  if (with_output)
    out.push_back(infer_by_rule(Activate{act, ndim}.rule(), {a.mesh, {a.ins[1]}, {a.wants_grad[1]}}, {})[0]);
  if (bias) out.push_back(sum_of_rows(a.mesh, letters(ndim), out[0]));
  return out;
}

Value activate(Builder& b, Act act, Value x) { return b.add1(Activate{act, b.type(x).ndim()}, {x}); }

}  // namespace megalith
