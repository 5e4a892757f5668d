// z = x + y, where y may lack dims of x (bias, positions). spec "sbh,h->sbh".
#pragma once
#include "graph/builder.h"

namespace megalith {

struct Add {
  static constexpr std::string_view name = "add";
  std::string spec;
  void fields(auto&& v) const { v("spec", spec); }
  LayoutRule rule() const { return {.spec = spec, .linear = {{0, 1}}}; }
  std::vector<Value> grad(Builder& b, const Node& n, std::span<const Value> dys) const;
  Cost cost(Types ins, Types outs) const { return {double(outs[0].elements()), total_bytes(ins, outs)}; }
  std::vector<Alias> aliases() const { return {{0, 0}}; }
};
Value add(Builder& b, const std::string& spec, Value x, Value y);

}  // namespace megalith
