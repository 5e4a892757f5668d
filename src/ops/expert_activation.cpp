#include "ops/expert_activation.h"

namespace megalith {

std::vector<Type> ExpertActivation::infer(const InferArgs& a) const {
  check(a.ins.size() == 3, "got {} inputs", a.ins.size());
  const Type &u = a.ins[0], &weights = a.ins[1], &ends = a.ins[2];
  check(weights.dtype == accum_of(u.dtype), "the weights of {} rows are {}", megalith::name_of(u.dtype),
        megalith::name_of(weights.dtype));
  const i64 e = ends.dim(1);
  const LayoutRule rule{.spec = act.letters() + ",en,ne->enf", .linear = {{1}}, .whole = "m"};
  std::vector<Type> ins = {rows_as_letters(u, e), rows_as_letters(weights, e), ends_as_letters(ends, u.dim(0))};
  return {rows_of_letters(infer_letters(rule, a, std::move(ins), {})[0])};
}

std::vector<Value> ExpertActivation::grad(Builder& b, const Node& n, std::span<const Value> dys) const {
  const std::vector<Value> ins = {dys[0], b.saved(n.ins[0]), b.saved(n.ins[1]), b.saved(n.ins[2])};
  const std::vector<Value> d = b.add(ExpertActivationGrad{.act = act, .filled = filled}, ins);
  return {d[0], d[1], {}};
}

std::vector<Type> ExpertActivationGrad::infer(const InferArgs& a) const {
  check(a.ins.size() == 4, "got {} inputs", a.ins.size());
  const Type &dy = a.ins[0], &u = a.ins[1], &weights = a.ins[2], &ends = a.ins[3];
  const i64 e = ends.dim(1);
  const Type weight_letters = rows_as_letters(weights, e), u_letters = rows_as_letters(u, e);
  const Type ends_letters = ends_as_letters(ends, u.dim(0));
  const LayoutRule rule{
      .spec = "enf," + act.letters() + ",en,ne->" + act.letters() + ",en", .linear = {{0}}, .whole = "m"};
  std::vector<Type> out = infer_letters(rule, a, {rows_as_letters(dy, e), u_letters, weight_letters, ends_letters},
                                        {u.dtype, weights.dtype});
  if (with_output) {
    const InferArgs forward{a.mesh, {u, weights, ends}, {a.wants_grad[1], a.wants_grad[2], false}};
    Type y = ExpertActivation{act}.infer(forward)[0];
    return {rows_of_letters(out[0]), rows_of_letters(out[1]), y};
  }
  return {rows_of_letters(out[0]), rows_of_letters(out[1])};
}

Value expert_activation(Builder& b, const ExpertAct& act, Value u, Value weights, const ExpertPlan& plan) {
  return b.add1(ExpertActivation{act, plan.filled}, {u, weights, plan.ends});
}

}  // namespace megalith
