#include "models/gpt_parts.h"
#include "ops/activate.h"
#include "ops/einsum.h"
#include "ops/swiglu.h"

namespace megalith {

static Act act_of(Activation a) {
  switch (a) {
    case Activation::gelu:
      return Act::gelu;
    case Activation::squared_relu:
      return Act::squared_relu;
    default:
      return Act::gelu_tanh;
  }
}

Value gpt_mlp(GptParts& p, const std::string& name, Value x) {
  const ModelConfig& c = p.config;
  const i64 f = c.ffn_hidden_size, h = c.hidden_size;
  Value u;
  if (c.gated()) {
    u = einsum(p.b, "sbh,nfh->sbnf", x, p.param(name + "linear_fc1.weight", {2, f, h}, c.init_method_std));
    u = swiglu(p.b, p.biased(name + "linear_fc1", "sbnf,nf->sbnf", u, {2, f}, c.mlp_bias()));
  } else {
    u = einsum(p.b, "sbh,fh->sbf", x, p.param(name + "linear_fc1.weight", {f, h}, c.init_method_std));
    u = activate(p.b, act_of(c.activation), p.biased(name + "linear_fc1", "sbf,f->sbf", u, {f}, c.mlp_bias()));
  }
  return einsum(p.b, "sbf,hf->sbh", u, p.param(name + "linear_fc2.weight", {h, f}, p.output_std()));
}

}  // namespace megalith
