#include "ops/latent_keys.h"

#include "ops/cut.h"

namespace megalith {

// Letters: j own + value, p shared, k own + shared, v value.
LayoutRule LatentKeys::rule() const {
  return {
      .spec = "sbgj,sbp->sbgk,sbgv", .linear = {{0, 1}}, .whole = "jp", .sizes = {{'k', own + shared}, {'v', value}}};
}

std::vector<Value> LatentKeys::grad(Builder& b, const Node& n, std::span<const Value> dys) const {
  return b.add(LatentKeysGrad{own, shared, value}, {or_zeros(b, dys[0], n.outs[0]), or_zeros(b, dys[1], n.outs[1])});
}

LayoutRule LatentKeysGrad::rule() const {
  return {
      .spec = "sbgk,sbgv->sbgj,sbp", .linear = {{0, 1}}, .whole = "kv", .sizes = {{'j', own + value}, {'p', shared}}};
}

}  // namespace megalith
