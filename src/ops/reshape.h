// Merges or splits neighbouring dims: spec "sb(gd)->sbgd", with the sizes of the letters in parentheses.
#pragma once
#include "graph/builder.h"

namespace megalith {

struct Reshape {
  static constexpr std::string_view name = "reshape";
  std::string spec;
  std::vector<std::pair<char, i64>> sizes;
  std::vector<Type> back_to;  // for a gradient: the type to return to, because several types map to one result

  void fields(auto&& v) const { v("spec", spec); }
  std::vector<Type> infer(const InferArgs& a) const;
  std::vector<Value> grad(Builder& b, const Node& n, std::span<const Value> dys) const;
  Cost cost(Types, Types) const { return {}; }
  std::vector<Alias> aliases() const { return {{0, 0}}; }
};

}  // namespace megalith
