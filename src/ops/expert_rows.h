// The plan of a dispatch: which row of which rank's experts each token has. choice [s,b,k] i32: experts of each token,
// ascending, -1 for none; equal over ep and etp (Copy over ep). ->
//   ends   [d,e] i32: where each expert's rows end, counted from the first expert of the rank; so the last one is how
//                     many there are. d: the ranks of edp with tokens of their own, split over them; e over ep.
//   source [n] i32:   the local token s_i B + b_i of each row.
//   slots  [x,s,b,k] i32: the row of a token's slot, or -1 where its expert is on another rank. x = ep, split over it.
// Rows are sorted by expert, of one expert by token, as tokens lie in the rank's memory: by the rank that they come
// from, if that is how they were gathered.
//
// With `rows` the plan is of one part of the tokens (ops/expert_parts.h), whose rows fit into so many of a rank. A
// second input has the parts' cuts. Slots of the other tokens are -1.
#pragma once
#include "graph/builder.h"
#include "ops/ragged.h"

namespace megalith {

struct ExpertRows {
  static constexpr std::string_view name = "expert_rows";
  static constexpr bool differentiable = false;
  i64 experts = 0;         // E
  i64 rows = 0, part = 0;  // 0 rows: the plan of all tokens
  void fields(auto&& v) const {
    v("experts", experts);
    if (rows) v("rows", rows), v("part", part);
  }
  std::vector<Type> infer(const InferArgs& a) const;
  std::vector<Value> grad(Builder&, const Node&, std::span<const Value>) const { no_grad(name); }
  Cost cost(Types ins, Types outs) const { return {0, total_bytes(ins, outs)}; }
};

ExpertPlan expert_rows(Builder& b, Value choice, i64 experts);
// Of one part.
ExpertPlan expert_rows(Builder& b, Value choice, Value cuts, const ExpertRows& of);

}  // namespace megalith
