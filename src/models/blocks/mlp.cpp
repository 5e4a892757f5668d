// A layer's MLP, with or without a gate.
#include "models/blocks/parts.h"
#include "ops/einsum.h"

namespace megalith {

Act act_of(Activation a) {
  switch (a) {
    case Activation::gelu:
      return Act::gelu;
    case Activation::squared_relu:
      return Act::squared_relu;
    case Activation::relu:
      return Act::relu;
    default:
      return Act::gelu_tanh;
  }
}

Gate gate_of(Activation a) {
  switch (a) {
    case Activation::geglu:
      return Gate::gelu_tanh;
    case Activation::quick_geglu:
      return Gate::quick_gelu;
    default:
      return Gate::silu;
  }
}

Value mlp_block(Parts& p, const std::string& name, Value x, i64 width, bool has_bias) {
  const ModelConfig& c = p.config;
  const i64 f = width, h = c.hidden_size;
  const double std = c.init_method_std;
  Value u;
  if (c.gated()) {
    u = einsum(p.b, "sbh,nfh->sbnf", x,
               p.matrix(name + "linear_fc1.weight", {2, f, h}, split_along(1), initial_of(c, std, 2 * f, h)));
    u = swiglu(p.b, p.biased(name + "linear_fc1", "sbnf,nf->sbnf", u, {2, f}, has_bias, split_along(1)),
               gate_of(c.activation));
  } else {
    u = einsum(p.b, "sbh,fh->sbf", x,
               p.matrix(name + "linear_fc1.weight", {f, h}, split_along(0), initial_of(c, std, f, h)));
    u = activate(p.b, act_of(c.activation),
                 p.biased(name + "linear_fc1", "sbf,f->sbf", u, {f}, has_bias, split_along(0)));
  }
  return einsum(p.b, "sbf,hf->sbh", u,
                p.matrix(name + "linear_fc2.weight", {h, f}, split_along(1), initial_of_output(c, h, f)));
}

}  // namespace megalith
