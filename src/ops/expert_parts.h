// Tokens in parts, so that the rows of each part fit into a buffer of fewer rows than there can be. A part has as many
// tokens as fit, one after the other. So all of them are in the first part where their rows fit, and other parts are
// then empty. Ranks cut their tokens apart from one another.
#pragma once
#include <optional>

#include "graph/builder.h"

namespace megalith {

// The rows that a rank has room for.
struct ExpertRoom {
  i64 balanced = 0;  // rows if all experts of all ranks get the same
  i64 worst = 0;     // rows that there can be
  i64 rows = 0;      // of the buffer
  i64 parts = 1;     // always enough
};
// `tokens`: of the rank's ep x etp group, each with k of `experts`; a rank has one of ep parts of the experts.
// `factor`: rows of the buffer, as a multiple of the balanced number; none: the worst case.
ExpertRoom expert_room(i64 tokens, i64 k, i64 experts, i64 ep, std::optional<double> factor);

// choice [s,b,k] i32, as for ExpertRows -> cuts [d,x,parts + 1] i32: part i has the local tokens s_i B + b_i from
// cuts[i] up to cuts[i + 1]. d, x: as for `ends` and `slots` there.
struct ExpertParts {
  static constexpr std::string_view name = "expert_parts";
  static constexpr bool differentiable = false;
  i64 experts = 0, rows = 0, parts = 1;  // rows: of a part, on a rank
  void fields(auto&& v) const { v("experts", experts), v("rows", rows), v("parts", parts); }
  std::vector<Type> infer(const InferArgs& a) const;
  std::vector<Value> grad(Builder&, const Node&, std::span<const Value>) const { no_grad(name); }
  Cost cost(Types ins, Types outs) const { return {0, total_bytes(ins, outs)}; }
};

}  // namespace megalith
