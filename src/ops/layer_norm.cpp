#include "ops/layer_norm.h"

#include "ops/sum.h"

namespace megalith {

LayoutRule LayerNorm::rule() const {
  const std::string h = x.substr(x.size() - 1), rows = x.substr(0, x.size() - 1);
  return {.spec = x + "," + h + "," + h + "->" + x + "," + rows + "," + rows, .whole = h};
}

std::vector<Value> LayerNorm::grad(Builder& b, const Node& n, std::span<const Value> dys) const {
  check(!dys[1] && !dys[2], "the gradient of the statistics is not handled");
  return b.add(LayerNormGrad{x, b.grad_dtype(n.ins[1])}, {dys[0], n.ins[0], n.ins[1], n.outs[1], n.outs[2]});
}

LayoutRule LayerNormGrad::rule() const {
  const std::string h = x.substr(x.size() - 1), rows = x.substr(0, x.size() - 1);
  LayoutRule r{.spec = x + "," + x + "," + h + "," + rows + "," + rows, .linear = {{0}}, .whole = h};
  if (residual) r.spec += "," + x, r.linear = {{0, 5}};
  r.spec += "->" + x + "," + h + "," + h;
  return r;
}

std::vector<Type> LayerNormGrad::infer(const InferArgs& a) const {
  InferArgs backward = a;
  if (with_output) backward.ins.pop_back(), backward.wants_grad.pop_back();
  std::vector<Type> out = infer_by_rule(rule(), backward, dtypes(a.ins));
  if (residual) check(a.ins[5] == out[0], "adds {} to {}", to_string(a.ins[5]), to_string(out[0]));
  if (with_output) {
    const InferArgs forward{
        a.mesh, {a.ins[1], a.ins[2], a.ins.back()}, {a.wants_grad[1], a.wants_grad[2], a.wants_grad.back()}};
    out.push_back(infer_by_rule(LayerNorm{x}.rule(), forward, {})[0]);
  }
  if (bias) out.push_back(sum_of_rows(a.mesh, x, out[0]));
  return out;
}

std::vector<Alias> LayerNormGrad::aliases() const {
  std::vector<Alias> out = {{0, 0}};
  if (residual) out.push_back({0, 5});
  if (with_output) out.push_back({3, 1});
  return out;
}

Value layer_norm(Builder& b, const std::string& letters, Value x, Value w, Value c, double eps) {
  return b.add1(LayerNorm{letters, eps}, {x, w, c});
}

}  // namespace megalith
