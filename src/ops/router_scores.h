// Inputs of a router's losses.
//   router_scores   z [s,b,e] -> q [s,b,e]: softmax, or the scores (ops/router_score.h) over the sum of all experts'
//                   scores (+ 1e-20)
//   expert_map      choice [s,b,k] -> m [s,b,e]: 1 for chosen experts; ids below 0 choose none
//   log_sum_exp     z [s,b,e] -> [s,b]: log of the sum of e^z
#pragma once
#include "graph/builder.h"
#include "ops/router_score.h"

namespace megalith {

struct RouterScores {
  static constexpr std::string_view name = "router_scores";
  RouterScore score = RouterScore::softmax;
  void fields(auto&& v) const { v("score", name_of(score)); }
  LayoutRule rule() const { return {.spec = "sbe->sbe", .whole = "e"}; }
  std::vector<Value> grad(Builder& b, const Node& n, std::span<const Value> dys) const;
  Cost cost(Types ins, Types outs) const { return {5.0 * double(ins[0].elements()), total_bytes(ins, outs)}; }
};

struct RouterScoresGrad {  // dq, z -> dz
  static constexpr std::string_view name = "router_scores_grad";
  RouterScore score = RouterScore::softmax;
  void fields(auto&& v) const { v("score", name_of(score)); }
  LayoutRule rule() const { return {.spec = "sbe,sbe->sbe", .linear = {{0}}, .whole = "e"}; }
  std::vector<DType> dtypes(Types ins) const { return {ins[1].dtype}; }
  std::vector<Value> grad(Builder&, const Node&, std::span<const Value>) const { no_grad(name); }
  Cost cost(Types ins, Types outs) const { return {10.0 * double(ins[1].elements()), total_bytes(ins, outs)}; }
};

struct ExpertMap {
  static constexpr std::string_view name = "expert_map";
  static constexpr bool differentiable = false;
  i64 experts = 1;
  DType dtype = DType::f32;
  void fields(auto&& v) const { v("experts", experts), v("dtype", name_of(dtype)); }
  LayoutRule rule() const { return {.spec = "sbk->sbe", .whole = "ke", .sizes = {{'e', experts}}}; }
  std::vector<DType> dtypes(Types) const { return {dtype}; }
  std::vector<Value> grad(Builder&, const Node&, std::span<const Value>) const { no_grad(name); }
  Cost cost(Types ins, Types outs) const { return {0, total_bytes(ins, outs)}; }
};

struct LogSumExp {
  static constexpr std::string_view name = "log_sum_exp";
  LayoutRule rule() const { return {.spec = "sbe->sb", .whole = "e"}; }
  std::vector<Value> grad(Builder& b, const Node& n, std::span<const Value> dys) const;
  Cost cost(Types ins, Types outs) const { return {3.0 * double(ins[0].elements()), total_bytes(ins, outs)}; }
};

struct LogSumExpGrad {  // dl [s,b], z -> dz = dl times the softmax of z
  static constexpr std::string_view name = "log_sum_exp_grad";
  LayoutRule rule() const { return {.spec = "sb,sbe->sbe", .linear = {{0}}, .whole = "e"}; }
  std::vector<DType> dtypes(Types ins) const { return {ins[1].dtype}; }
  std::vector<Value> grad(Builder&, const Node&, std::span<const Value>) const { no_grad(name); }
  Cost cost(Types ins, Types outs) const { return {4.0 * double(ins[1].elements()), total_bytes(ins, outs)}; }
};

inline std::vector<Value> RouterScores::grad(Builder& b, const Node& n, std::span<const Value> dys) const {
  return {b.add1(RouterScoresGrad{score}, {dys[0], n.ins[0]})};
}
inline std::vector<Value> LogSumExp::grad(Builder& b, const Node& n, std::span<const Value> dys) const {
  return {b.add1(LogSumExpGrad{}, {dys[0], n.ins[0]})};
}

}  // namespace megalith
