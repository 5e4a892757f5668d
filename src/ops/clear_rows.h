// Clears the rows of experts (ops/ragged.h) that do not exist: rows [n,...], ends [d,e] -> rows with zeros behind the
// last end. Ops that read all of a buffer then see no old values: the amax, and casts that count what they lose.
#pragma once
#include "graph/builder.h"
#include "ops/ragged.h"

namespace megalith {

struct ClearRows {
  static constexpr std::string_view name = "clear_rows";
  static constexpr bool repeats = true;
  double filled = 1;  // average filled fraction of n, for the cost
  void fields(auto&& v) const {
    if (filled != 1) v("filled", filled);
  }
  std::vector<Type> infer(const InferArgs& a) const { return {a.ins.at(0)}; }
  std::vector<Value> grad(Builder&, const Node&, std::span<const Value>) const { no_grad(name); }
  Cost cost(Types, Types outs) const { return {0, (1 - filled) * double(outs[0].bytes())}; }
  std::vector<Alias> aliases() const { return {{0, 0}}; }
};

}  // namespace megalith
