#include "ops/einsum.h"

#include <map>

namespace megalith {

LayoutRule Einsum::rule() const { return {.spec = spec, .linear = {{0}, {1}}}; }

LayoutRule Einsum::bias_rule(int bias_ndim) const {
  const std::string y = split_spec(spec).second[0];
  check(bias_ndim <= int(y.size()), "{}: a bias of {} dims", spec, bias_ndim);
  return {.spec = y + "," + y.substr(y.size() - size_t(bias_ndim)) + "->" + y, .linear = {{0, 1}}};
}

std::vector<Type> Einsum::infer(const InferArgs& a) const {
  check(!accumulate || !(plus || bias), "{}: accumulates and adds", spec);
  check(a.ins.size() == 2u + (accumulate || plus) + bias, "{}: got {} inputs", spec, a.ins.size());
  InferArgs two{a.mesh, {a.ins[0], a.ins[1]}, {a.wants_grad[0], a.wants_grad[1]}};
  std::vector<Type> out = infer_by_rule(rule(), two, {dtype});
  if (bias) {
    InferArgs sum{a.mesh, {out[0], a.ins.back()}, {a.wants_grad[0] || a.wants_grad[1], a.wants_grad.back()}};
    out = infer_by_rule(bias_rule(a.ins.back().ndim()), sum, {dtype});
  }
  if (accumulate || plus) check(a.ins[2] == out[0], "{}: adds {} and {}", spec, to_string(out[0]), to_string(a.ins[2]));
  return out;
}

std::vector<Value> Einsum::grad(Builder& b, const Node& n, std::span<const Value> dys) const {
  check(!plus && !bias, "{}: the gradient of a fused form", spec);
  const auto [ins, outs] = split_spec(spec);
  const std::string &A = ins[0], &B = ins[1], &C = outs[0];
  const Value x = n.ins[0], w = n.ins[1];
  Value dx, dw;
  if (b.wants_grad(x)) dx = b.add1(Einsum{C + "," + B + "->" + A, b.grad_dtype(x)}, {dys[0], b.saved(w)});
  if (b.wants_grad(w)) dw = b.add1(Einsum{C + "," + A + "->" + B, b.grad_dtype(w)}, {dys[0], b.saved(x)});
  return {dx, dw};
}

Cost Einsum::cost(Types ins, Types outs) const {
  const auto names = split_spec(spec);
  std::map<char, i64> size;
  for (int i = 0; i < 2; ++i)
    for (int d = 0; d < ins[i].ndim(); ++d) size[names.first[i][d]] = ins[i].dim(d);
  double flops = 2;
  for (auto& [letter, n] : size) flops *= double(n);
  return {flops, total_bytes(ins, outs)};
}

// y never uses the memory of `plus`. cuBLASLt rounds some products differently in place, so the bits would depend on
// whether another node still needs `plus`.
std::vector<Alias> Einsum::aliases() const {
  if (accumulate) return {{0, 2, true}};
  return {};
}

Value einsum(Builder& b, const std::string& spec, Value x, Value w) {
  return b.add1(Einsum{spec, b.type(x).dtype}, {x, w});
}

}  // namespace megalith
