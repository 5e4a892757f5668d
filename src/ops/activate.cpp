#include "ops/activate.h"

namespace megalith {

std::vector<Value> Activate::grad(Builder& b, const Node& n, std::span<const Value> dys) const {
  return {b.add1(ActivateGrad{act, ndim}, {dys[0], n.ins[0]})};
}

std::vector<Type> ActivateGrad::infer(const InferArgs& a) const {
  std::vector<Type> out = infer_by_rule(rule(), a, {});
  if (again) out.push_back(infer_by_rule(Activate{act, ndim}.rule(), {a.mesh, {a.ins[1]}, {a.wants_grad[1]}}, {})[0]);
  if (bias) {
    const LayoutRule sum{.spec = bias_spec(), .linear = {{0}}};
    out.push_back(infer_by_rule(sum, {a.mesh, {out[0]}, {true}}, {accum_of(out[0].dtype)})[0]);
  }
  return out;
}

std::string ActivateGrad::bias_spec() const {
  const std::string all = letters(ndim);
  return all + "->" + all.back();
}

Value activate(Builder& b, Act act, Value x) { return b.add1(Activate{act, b.type(x).ndim()}, {x}); }

}  // namespace megalith
