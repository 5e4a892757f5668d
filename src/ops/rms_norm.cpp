#include "ops/rms_norm.h"

#include "ops/boxes.h"
#include "ops/sum.h"

namespace megalith {

LayoutRule RmsNorm::rule() const {
  const std::string h = x.substr(x.size() - 1), rows = x.substr(0, x.size() - 1);
  return {.spec = x + "," + h + "->" + x + "," + rows, .whole = h};
}

std::vector<Type> RmsNorm::infer(const InferArgs& a) const {
  std::vector<Type> out = infer_by_rule(rule(), a, dtypes(a.ins));
  if (gives_amax) out.push_back(tensor_amax(a.mesh, out[0]));
  return out;
}

std::vector<Value> RmsNorm::grad(Builder& b, const Node& n, std::span<const Value> dys) const {
  check(!dys[1], "the gradient of rstd is not handled");
  return b.add(RmsNormGrad{x, b.grad_dtype(n.ins[1])}, {dys[0], n.ins[0], n.ins[1], n.outs[1]});
}

LayoutRule RmsNormGrad::rule() const {
  const std::string h = x.substr(x.size() - 1), rows = x.substr(0, x.size() - 1);
  LayoutRule r{.spec = x + "," + x + "," + h + "," + rows, .linear = {{0}}, .whole = h};
  if (residual) r.spec += "," + x, r.linear = {{0, 4}};
  r.spec += "->" + x + "," + h;
  return r;
}

std::vector<Type> RmsNormGrad::infer(const InferArgs& a) const {
  std::vector<Type> out = infer_by_rule(rule(), a, dtypes(a.ins));
  if (residual) check(a.ins[4] == out[0], "adds {} to {}", to_string(a.ins[4]), to_string(out[0]));
  if (with_output) {
    const InferArgs forward{a.mesh, {a.ins[1], a.ins[2]}, {a.wants_grad[1], a.wants_grad[2]}};
    out.push_back(infer_by_rule(RmsNorm{x}.rule(), forward, {})[0]);
  }
  if (bias) out.push_back(sum_of_rows(a.mesh, x, out[0]));
  if (gives_amax) out.push_back(tensor_amax(a.mesh, out[0]));
  return out;
}

std::vector<Alias> RmsNormGrad::aliases() const {
  std::vector<Alias> out = {{0, 0}};
  if (residual) out.push_back({0, 4});
  if (with_output) out.push_back({2, 1});
  return out;
}

Value rms_norm(Builder& b, const std::string& letters, Value x, Value w, double eps) {
  return b.add1(RmsNorm{letters, eps}, {x, w});
}

}  // namespace megalith
