#include "ops/multi_update.h"

namespace megalith {

std::vector<Type> MultiAccumulate::infer(const InferArgs& a) const {
  check(tensors > 0 && a.ins.size() == size_t(2 * tensors), "{} inputs for {} tensors", a.ins.size(), tensors);
  std::vector<Type> out;
  for (size_t i = 0; i < a.ins.size(); i += 2) {
    const InferArgs one{a.mesh, {a.ins[i], a.ins[i + 1]}, {a.wants_grad[i], a.wants_grad[i + 1]}};
    out.push_back(infer_by_rule(Accumulate{a.ins[i].ndim()}.rule(), one, {})[0]);
  }
  return out;
}

Cost MultiAccumulate::cost(Types ins, Types outs) const {
  double elements = 0;
  for (const Type& t : outs) elements += double(t.elements());
  return {elements, total_bytes(ins, outs)};
}

std::vector<Alias> MultiAccumulate::aliases() const {
  std::vector<Alias> out;
  for (int i = 0; i < tensors; ++i) out.push_back({i, 2 * i, true});
  return out;
}

std::vector<Type> MultiSumSquares::infer(const InferArgs& a) const {
  check(!a.ins.empty(), "no inputs");
  Type sum;
  for (size_t i = 0; i < a.ins.size(); ++i) {
    const InferArgs one{a.mesh, {a.ins[i]}, {a.wants_grad[i]}};
    const Type t = infer_by_rule(SumSquares{a.ins[i].ndim()}.rule(), one, {DType::f64})[0];
    if (i > 0 && t != sum) fail("the squares of input {} are {}, those before {}", i, to_string(t), to_string(sum));
    sum = t;
  }
  return {sum};
}

Cost MultiSumSquares::cost(Types ins, Types outs) const {
  double elements = 0;
  for (const Type& t : ins) elements += double(t.elements());
  return {2 * elements, total_bytes(ins, outs)};
}

std::vector<int> MultiUpdate::ins_of(int parameter) const {
  const int first = parameter * ins_each(), scalars = parameters() * ins_each();
  std::vector<int> out;
  for (int i = 0; i < 2 + states_of(rule); ++i) out.push_back(first + i);
  out.push_back(scalars), out.push_back(scalars + 1);
  if (copy) out.push_back(first + ins_each() - 1);
  return out;
}

std::vector<Type> MultiUpdate::infer(const InferArgs& a) const {
  check(!decay.empty() && a.ins.size() == size_t(parameters() * ins_each() + 2), "{} inputs for {} parameters",
        a.ins.size(), parameters());
  std::vector<Type> out;
  for (int p = 0; p < parameters(); ++p) {
    InferArgs each{a.mesh, {}, {}};
    for (int i : ins_of(p)) each.ins.push_back(a.ins[size_t(i)]), each.wants_grad.push_back(a.wants_grad[size_t(i)]);
    for (Type& t : one(p, each.ins[0].ndim()).infer(each)) out.push_back(std::move(t));
  }
  return out;
}

Cost MultiUpdate::cost(Types ins, Types outs) const {
  double elements = 0;
  for (int p = 0; p < parameters(); ++p) elements += double(ins[size_t(p * ins_each())].elements());
  return {flops_of(rule) * elements, total_bytes(ins, outs)};
}

std::vector<Alias> MultiUpdate::aliases() const {
  std::vector<Alias> out;
  for (int p = 0; p < parameters(); ++p) {
    const int to = p * outs_each(), from = p * ins_each();
    out.push_back({to, from, true});
    for (int k = 1; k < outs_each(); ++k) out.push_back({to + k, from + 1 + k, true});
  }
  return out;
}

std::string MultiUpdate::decay_text() const {
  std::string out;
  for (bool d : decay) out += d ? '1' : '0';
  return out;
}

}  // namespace megalith
