#include "ops/rms_norm.h"

namespace megalith {

LayoutRule RmsNorm::rule() const {
  const std::string h = x.substr(x.size() - 1), rows = x.substr(0, x.size() - 1);
  return {.spec = x + "," + h + "->" + x + "," + rows, .whole = h};
}

std::vector<Value> RmsNorm::grad(Builder& b, const Node& n, std::span<const Value> dys) const {
  check(!dys[1], "the gradient of rstd is not handled");
  return b.add(RmsNormGrad{x, b.grad_dtype(n.ins[1])}, {dys[0], n.ins[0], n.ins[1], n.outs[1]});
}

LayoutRule RmsNormGrad::rule() const {
  const std::string h = x.substr(x.size() - 1), rows = x.substr(0, x.size() - 1);
  return {.spec = x + "," + x + "," + h + "," + rows + "->" + x + "," + h, .linear = {{0}}, .whole = h};
}

Value rms_norm(Builder& b, const std::string& letters, Value x, Value w, double eps) {
  return b.add1(RmsNorm{letters, eps}, {x, w});
}

}  // namespace megalith
