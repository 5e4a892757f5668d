#include "ops/route.h"

namespace megalith {

void RouteSpec::check_experts(i64 experts) const {
  check(topk >= 1 && topk <= experts, "a token chooses {} of {} experts: want 1 to {}", topk, experts, experts);
  check(!(bias && by), "the choice has both a bias and separate scores: want one of them");
  if (groups == 0) return;
  check(experts % groups == 0, "{} experts in {} groups: want groups of one size", experts, groups);
  const i64 each = experts / groups;
  check(group_topk >= 1 && group_topk <= groups, "a token chooses {} of {} groups: want 1 to {}", group_topk, groups,
        groups);
  check(group_best >= 1 && group_best <= each, "a group's score is of {} experts: want 1 to the group's {}", group_best,
        each);
  check(topk <= group_topk * each, "a token chooses {} experts, and its {} groups have {}: choose more groups", topk,
        group_topk, group_topk * each);
}

std::vector<Type> Route::infer(const InferArgs& a) const {
  LayoutRule rule{.spec = "sbe->sbk,sbk", .whole = "ek", .sizes = {{'k', at.topk}}};
  if (at.bias) rule.spec = "sbe,e->sbk,sbk";
  if (at.by) rule.spec = "sbe,sbe->sbk,sbk";
  const std::vector<Type> out = infer_by_rule(rule, a, {a.ins.at(0).dtype, DType::i32});
  at.check_experts(a.ins[0].dim(-1));
  return out;
}

std::vector<Value> Route::grad(Builder& b, const Node& n, std::span<const Value> dys) const {
  std::vector<Value> out(n.ins.size());
  out[0] = b.add1(RouteGrad{at}, {dys[0], n.ins[0], n.outs[1]});
  return out;
}

}  // namespace megalith
