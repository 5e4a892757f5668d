// The vocabulary-parallel loss in three ordinary ops, with two small reductions between them (Shoeybi 2019, section 3):
//   vocab_max      logits [s,b,v] -> m [s,b]                        over a split v: Max
//   vocab_sums     logits, labels [s,b], m -> z [2,s,b]             over a split v: Partial
//                  z0 = sum exp(x - m), z1 = x[label] - m
//   cross_entropy  z -> loss [s,b] = log z0 - z1
// Only the first `vocab` columns exist; padding counts as -inf.
#pragma once
#include "graph/builder.h"

namespace megalith {

struct VocabMax {
  static constexpr std::string_view name = "vocab_max";
  static constexpr bool differentiable = false;  // the loss does not depend on m
  i64 vocab = 0;
  void fields(auto&& v) const { v("vocab", vocab); }
  LayoutRule rule() const { return {.spec = "sbv->sb", .reduction = Reduction::max}; }
  std::vector<DType> dtypes(Types ins) const { return {accum_of(ins[0].dtype)}; }
  std::vector<Value> grad(Builder&, const Node&, std::span<const Value>) const { no_grad(name); }
  Cost cost(Types ins, Types outs) const { return {double(ins[0].elements()), total_bytes(ins, outs)}; }
};

struct VocabSums {
  static constexpr std::string_view name = "vocab_sums";
  i64 vocab = 0;
  void fields(auto&& v) const { v("vocab", vocab); }
  LayoutRule rule() const { return {.spec = "sbv,sb,sb->nsb", .whole = "n", .sizes = {{'n', 2}}}; }
  std::vector<DType> dtypes(Types ins) const { return {accum_of(ins[0].dtype)}; }
  std::vector<Value> grad(Builder& b, const Node& n, std::span<const Value> dys) const;
  Cost cost(Types ins, Types outs) const { return {8.0 * double(ins[0].elements()), total_bytes(ins, outs)}; }
};

// VocabMax and VocabSums in one read of the logits, if no reduction is between them. A pass adds it.
//   logits, labels -> m [s,b], z [2,s,b]
struct VocabMaxSums {
  static constexpr std::string_view name = "vocab_max_sums";
  i64 vocab = 0;
  void fields(auto&& v) const { v("vocab", vocab); }
  LayoutRule rule() const { return {.spec = "sbv,sb->sb,nsb", .whole = "nv", .sizes = {{'n', 2}}}; }
  std::vector<DType> dtypes(Types ins) const { return {accum_of(ins[0].dtype), accum_of(ins[0].dtype)}; }
  std::vector<Value> grad(Builder&, const Node&, std::span<const Value>) const { no_grad(name); }
  Cost cost(Types ins, Types outs) const { return {9.0 * double(ins[0].elements()), total_bytes(ins, outs)}; }
};

struct VocabSumsGrad {  // dz [2,s,b], logits, labels, m -> dlogits: dz0 * exp(x - m) + dz1 * [label]; may overwrite the
                        // logits
  static constexpr std::string_view name = "vocab_sums_grad";
  i64 vocab = 0;
  void fields(auto&& v) const { v("vocab", vocab); }
  LayoutRule rule() const { return {.spec = "nsb,sbv,sb,sb->sbv", .linear = {{0}}, .whole = "n"}; }
  std::vector<DType> dtypes(Types ins) const { return {ins[1].dtype}; }
  std::vector<Value> grad(Builder&, const Node&, std::span<const Value>) const { no_grad(name); }
  Cost cost(Types ins, Types outs) const { return {8.0 * double(ins[1].elements()), total_bytes(ins, outs)}; }
  std::vector<Alias> aliases() const { return {{0, 1}}; }
};

// VocabMaxSums and the logits' gradient, computed while each row is in registers. This needs dy before the loss. A pass
// adds it. dlogits may overwrite the logits.
//   dy [s,b], logits, labels -> z [2,s,b], dlogits = dy (exp(x - m) / z0 - [label])
struct VocabLoss {
  static constexpr std::string_view name = "vocab_loss";
  i64 vocab = 0;
  void fields(auto&& v) const { v("vocab", vocab); }
  LayoutRule rule() const { return {.spec = "sb,sbv,sb->nsb,sbv", .whole = "nv", .sizes = {{'n', 2}}}; }
  std::vector<DType> dtypes(Types ins) const { return {accum_of(ins[1].dtype), ins[1].dtype}; }
  std::vector<Value> grad(Builder&, const Node&, std::span<const Value>) const { no_grad(name); }
  Cost cost(Types ins, Types outs) const { return {17.0 * double(ins[1].elements()), total_bytes(ins, outs)}; }
  std::vector<Alias> aliases() const { return {{1, 1}}; }
};

struct CrossEntropy {
  static constexpr std::string_view name = "cross_entropy";
  LayoutRule rule() const { return {.spec = "nsb->sb", .whole = "n"}; }
  std::vector<Value> grad(Builder& b, const Node& n, std::span<const Value> dys) const;
  Cost cost(Types ins, Types outs) const { return {2.0 * double(ins[0].elements()), total_bytes(ins, outs)}; }
};

struct CrossEntropyGrad {  // dy [s,b], z [2,s,b] -> dz = [dy / z0, -dy]
  static constexpr std::string_view name = "cross_entropy_grad";
  LayoutRule rule() const { return {.spec = "sb,nsb->nsb", .linear = {{0}}, .whole = "n"}; }
  std::vector<Value> grad(Builder&, const Node&, std::span<const Value>) const { no_grad(name); }
  Cost cost(Types ins, Types outs) const { return {double(ins[1].elements()), total_bytes(ins, outs)}; }
};

}  // namespace megalith
