// Sum over the letters that the result lacks, "sbh->h". Its gradient is the broadcast "h,sbh->sbh", whose second input
// only gives the type.
#pragma once
#include "graph/builder.h"

namespace megalith {

struct Sum {
  static constexpr std::string_view name = "sum";
  std::string spec;
  DType dtype = DType::f32;  // of the result; sums run in f32 at least
  void fields(auto&& v) const { v("spec", spec), v("dtype", name_of(dtype)); }
  LayoutRule rule() const { return {.spec = spec, .linear = {{0}}}; }
  std::vector<DType> dtypes(Types) const { return {dtype}; }
  std::vector<Value> grad(Builder& b, const Node& n, std::span<const Value> dys) const;
  Cost cost(Types ins, Types outs) const { return {double(ins[0].elements()), total_bytes(ins, outs)}; }
};

// The type of the sum of x (with these letters) over all but its last letter, in f32 at least.
Type sum_of_rows(const Mesh& mesh, const std::string& letters, const Type& x);

struct Broadcast {
  static constexpr std::string_view name = "broadcast";
  std::string spec;
  DType dtype = DType::f32;
  void fields(auto&& v) const { v("spec", spec), v("dtype", name_of(dtype)); }
  LayoutRule rule() const { return {.spec = spec, .linear = {{0}}, .layout_only = {1}}; }
  std::vector<DType> dtypes(Types) const { return {dtype}; }
  std::vector<Value> grad(Builder&, const Node&, std::span<const Value>) const { no_grad(name); }
  Cost cost(Types ins, Types outs) const { return {0, double(ins[0].bytes() + outs[0].bytes())}; }
};

}  // namespace megalith
