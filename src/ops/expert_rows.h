// The plan of a dispatch: the row of each token on the ranks of its experts. choice [s,b,k] i32: experts of each token,
// ascending, -1 for none; equal over ep and etp (Copy over ep). ->
//   ends   [d,e] i32:     end of each expert's rows, from the rank's first expert on; the last end is their number.
//                         d: the ranks of edp with different tokens, split over them; e is split over ep.
//   source [n] i32:       the local token s_i B + b_i of each row.
//   slots  [x,s,b,k] i32: the row of a token's slot, or -1 if its expert is on another rank. x = ep, split over it.
// Rows are sorted by expert, and rows of one expert by token. Tokens are in the order of the rank's memory. If they
// were gathered, that is the order of the ranks that they come from.
//
// With `rows` the plan is for one part of the tokens (ops/expert_parts.h), whose rows fit into this many. A second
// input has the cuts of the parts. Slots of tokens in other parts are -1.
#pragma once
#include "graph/builder.h"
#include "ops/ragged.h"

namespace megalith {

struct ExpertRows {
  static constexpr std::string_view name = "expert_rows";
  static constexpr bool differentiable = false;
  i64 experts = 0;         // E
  i64 rows = 0, part = 0;  // rows 0: the plan is for all tokens
  void fields(auto&& v) const {
    v("experts", experts);
    if (rows) v("rows", rows), v("part", part);
  }
  std::vector<Type> infer(const InferArgs& a) const;
  std::vector<Value> grad(Builder&, const Node&, std::span<const Value>) const { no_grad(name); }
  Cost cost(Types ins, Types outs) const { return {0, total_bytes(ins, outs)}; }
};

ExpertPlan expert_rows(Builder& b, Value choice, i64 experts);
// The plan of one part.
ExpertPlan expert_rows(Builder& b, Value choice, Value cuts, const ExpertRows& of);

}  // namespace megalith
