#include "ops/expert_rows.h"

namespace megalith {

std::vector<Type> ExpertRows::infer(const InferArgs& a) const {
  const Type& choice = a.ins.at(0);
  check(choice.ndim() == 3 && choice.dtype == DType::i32, "want choice [s,b,k] i32, got {}", to_string(choice));
  const Layout& l = choice.layout;
  const AxisSet ep = l.copy & groups::expert;
  check(ep.has(a.mesh.used(groups::expert)), "choice is not Copy over ep: relayout it to Copy");
  const i64 ranks = a.mesh.n(ep);
  check(experts > 0 && experts % ranks == 0, "{} experts do not divide over {} ranks", experts, ranks);
  const AxisList tokens = ragged_tokens(l);
  AxisSet copy = l.copy;
  copy.erase(ep);

  AxisList groups_of_tokens = tokens;
  for (AxisUse& use : groups_of_tokens) use.order = Order::block;
  const Type ends{DType::i32, {a.mesh.n(tokens.axes()), experts}, {{groups_of_tokens, {{ep}}}, {}, copy, {}}};

  check(a.ins.size() == 1u + (rows > 0), "got {} inputs", a.ins.size());
  // of all ranks of edp together
  const i64 worst = choice.dim(0) * choice.dim(1) * std::min(choice.dim(2), experts / ranks);
  const i64 all = (rows ? rows * a.mesh.n(tokens.axes()) : worst) * ranks;
  AxisList n = tokens;
  n.add({ep, Order::ragged});
  const Type source{DType::i32, {all}, {{n}, {}, copy, {}}};

  Type slots{DType::i32, choice.shape, {l.dims, {}, copy, {}}};
  slots.shape.insert(slots.shape.begin(), ranks);
  slots.layout.dims.insert(slots.layout.dims.begin(), AxisList{{ep}});
  return {ends, source, slots};
}

ExpertPlan expert_rows(Builder& b, Value choice, i64 experts) {
  const std::vector<Value> out = b.add(ExpertRows{experts}, {choice});
  return {out[0], out[1], out[2]};
}

ExpertPlan expert_rows(Builder& b, Value choice, Value cuts, const ExpertRows& of) {
  const std::vector<Value> out = b.add(of, {choice, cuts});
  return {out[0], out[1], out[2]};
}

}  // namespace megalith
