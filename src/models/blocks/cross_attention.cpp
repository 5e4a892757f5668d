#include "models/blocks/parts.h"
#include "ops/einsum.h"

namespace megalith {

Value cross_attention_block(Parts& p, const std::string& name, Value x, Value memory) {
  const ModelConfig& c = p.config;
  const i64 g = c.groups(), r = c.heads_per_group(), d = c.kv_channels, h = c.hidden_size;
  const Placement queries = by_group(0, 1), keys = by_group(0);
  // Keys and values are one matrix.
  const double std = c.init_method_std;
  const Initial of_q = initial_of(c, std, g * r * d, h), of_kv = initial_of(c, std, 2 * g * d, h);
  Value q = einsum(p.b, "sbh,grdh->sbgrd", x, p.matrix(name + "linear_q.weight", {g, r, d, h}, queries, of_q));
  Value k = einsum(p.b, "sbh,gdh->sbgd", memory, p.matrix(name + "linear_k.weight", {g, d, h}, keys, of_kv));
  Value v = einsum(p.b, "sbh,gdh->sbgd", memory, p.matrix(name + "linear_v.weight", {g, d, h}, keys, of_kv));
  q = p.biased(name + "linear_q", "sbgrd,grd->sbgrd", q, {g, r, d}, c.qkv_bias(), queries);
  k = p.biased(name + "linear_k", "sbgd,gd->sbgd", k, {g, d}, c.qkv_bias(), keys);
  v = p.biased(name + "linear_v", "sbgd,gd->sbgd", v, {g, d}, c.qkv_bias(), keys);
  return attention_output(p, name, core_attention(p, name, attention_scale(c), q, k, v));
}

}  // namespace megalith
