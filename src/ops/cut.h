// Cuts a tensor in two along one dim, and joins the two again. Each op is the other's gradient.
//   Cut   x [.., first + second, ..] -> a [.., first, ..], b [.., second, ..]
//   Join  a, b -> x
#pragma once
#include "graph/builder.h"

namespace megalith {

struct Cut {
  static constexpr std::string_view name = "cut";
  std::string x = "sbd";
  char at = 'd';  // letter of the dim
  i64 first = 0, second = 0;
  void fields(auto&& v) const { v("x", x), v("at", at), v("first", first), v("second", second); }
  LayoutRule rule() const;
  std::vector<DType> dtypes(Types ins) const { return {ins[0].dtype, ins[0].dtype}; }
  std::vector<Value> grad(Builder& b, const Node& n, std::span<const Value> dys) const;
  Cost cost(Types ins, Types outs) const { return {0, total_bytes(ins, outs)}; }
};

struct Join {
  static constexpr std::string_view name = "join";
  std::string x = "sbd";  // of the result
  char at = 'd';
  i64 first = 0, second = 0;
  void fields(auto&& v) const { v("x", x), v("at", at), v("first", first), v("second", second); }
  LayoutRule rule() const;
  std::vector<Value> grad(Builder& b, const Node& n, std::span<const Value> dys) const;
  Cost cost(Types ins, Types outs) const { return {0, total_bytes(ins, outs)}; }
};

// The cotangent, or zeros if it is missing because the result has no readers.
Value or_zeros(Builder& b, Value cotangent, Value result);

}  // namespace megalith
