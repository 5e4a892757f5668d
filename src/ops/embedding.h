// y = table[ids]. ids [s,b] i32, table [v,h] -> y [s,b,h]. An id outside a rank's rows gives 0, so with a split v the
// result is a partial sum.
#pragma once
#include "graph/builder.h"

namespace megalith {

struct Embedding {
  static constexpr std::string_view name = "embedding";
  LayoutRule rule() const { return {.spec = "sb,vh->sbh", .linear = {{1}}}; }
  std::vector<DType> dtypes(Types ins) const { return {ins[1].dtype}; }
  std::vector<Value> grad(Builder& b, const Node& n, std::span<const Value> dys) const;
  Cost cost(Types ins, Types outs) const { return {0, double(ins[0].bytes() + 2 * outs[0].bytes())}; }
};

// ids, dy, table -> dtable [v,h]: rows of dy summed by id, in order. The table only gives the type. With `accumulate`
// the third input is the accumulator: the sums are added in place, or overwrite it in a step's first micro-batch if
// `starts`. `marks` is for an accumulator on one rank. Rows without an id in the step are then not written, and count
// as zeros.
//   ids, dy, acc, marks -> acc, marks [v] u8: 1 for written rows
struct EmbeddingGrad {
  static constexpr std::string_view name = "embedding_grad";
  DType dtype = DType::f32;
  bool accumulate = false, starts = false, marks = false;
  void fields(auto&& v) const {
    v("dtype", name_of(dtype));
    if (accumulate) v("accumulate", starts ? "starts" : "adds");
    if (marks) v("marks", marks);
  }
  LayoutRule rule() const {
    return {.spec = marks ? "sb,sbh,vh,v->vh,v" : "sb,sbh,vh->vh", .linear = {{1}}, .layout_only = {2}};
  }
  std::vector<Type> infer(const InferArgs& a) const;
  std::vector<Value> grad(Builder&, const Node&, std::span<const Value>) const { no_grad(name); }
  Cost cost(Types ins, Types outs) const;
  std::vector<Alias> aliases() const;
};

}  // namespace megalith
