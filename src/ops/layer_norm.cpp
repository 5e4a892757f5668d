#include "ops/layer_norm.h"

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
  return {.spec = x + "," + x + "," + h + "," + rows + "," + rows + "->" + x + "," + h + "," + h,
          .linear = {{0}},
          .whole = h};
}

Value layer_norm(Builder& b, const std::string& letters, Value x, Value w, Value c, double eps) {
  return b.add1(LayerNorm{letters, eps}, {x, w, c});
}

}  // namespace megalith
