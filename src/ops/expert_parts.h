// Cuts tokens into parts. The rows of each part fit into a buffer with fewer rows than the worst case. A part has as
// many consecutive tokens as fit. If all rows fit, the first part has all tokens and the others are empty. Each rank
// cuts its tokens independently.
#pragma once
#include <optional>

#include "graph/builder.h"

namespace megalith {

// The rows that a rank has room for.
struct ExpertRoom {
  i64 balanced = 0;  // rows if all experts of all ranks get equally many
  i64 worst = 0;     // maximum possible rows
  i64 rows = 0;      // size of the buffer
  i64 parts = 1;     // number that always suffices
};
// `tokens`: those of the rank's ep x etp group; each chooses k of `experts`. A rank has one of ep parts of the experts.
// `factor`: size of the buffer, as a multiple of the balanced number; none: the worst case.
ExpertRoom expert_room(i64 tokens, i64 k, i64 experts, i64 ep, std::optional<double> factor);

// choice [s,b,k] i32, as for ExpertRows -> cuts [d,x,parts + 1] i32. Part i has the local tokens s_i B + b_i from
// cuts[i] up to cuts[i + 1]. d and x are as for `ends` and `slots` there.
struct ExpertParts {
  static constexpr std::string_view name = "expert_parts";
  static constexpr bool differentiable = false;
  i64 experts = 0, rows = 0, parts = 1;  // rows: size of a part on a rank
  void fields(auto&& v) const { v("experts", experts), v("rows", rows), v("parts", parts); }
  std::vector<Type> infer(const InferArgs& a) const;
  std::vector<Value> grad(Builder&, const Node&, std::span<const Value>) const { no_grad(name); }
  Cost cost(Types ins, Types outs) const { return {0, total_bytes(ins, outs)}; }
};

}  // namespace megalith
