#include "ops/latent_keys.h"

namespace megalith {

// j: own + value, p: shared, k: own + shared, v: value.
LayoutRule LatentKeys::rule() const {
  return {
      .spec = "sbgj,sbp->sbgk,sbgv", .linear = {{0, 1}}, .whole = "jp", .sizes = {{'k', own + shared}, {'v', value}}};
}

std::vector<Value> LatentKeys::grad(Builder& b, const Node&, std::span<const Value> dys) const {
  check(dys[0] && dys[1], "the gradient of keys or values alone is not handled");
  return b.add(LatentKeysGrad{own, shared, value}, {dys[0], dys[1]});
}

LayoutRule LatentKeysGrad::rule() const {
  return {
      .spec = "sbgk,sbgv->sbgj,sbp", .linear = {{0, 1}}, .whole = "kv", .sizes = {{'j', own + value}, {'p', shared}}};
}

}  // namespace megalith
