// The experts of each token and their weights. Sources: Shazeer 2017 (softmax over the top k), Fedus 2021 (softmax
// before the choice). DeepSeek-V3 2024 has the sigmoid, the bias in the choice, and groups. Settings are Megatron
// Core's.
//   z [s,b,e], [bias [e]], [by [s,b,e]] -> p [s,b,k], choice [s,b,k] i32
// Scores s follow from z (ops/router_score.h). A token chooses the k experts with the largest `s + bias`, or with the
// largest `by` if that is given. The chosen experts are in ascending order; of equal ones the lower is chosen. Groups
// are equal runs of experts. With groups only experts of the best `group_topk` groups are chosen. The score of a group
// is the sum of its `group_best` largest s + bias. The weights are
//   softmax                       the softmax of the k chosen logits
//   softmax with pre_softmax      s, not divided again
//   sigmoid, sqrtsoftplus         s over the sum of the k chosen (+ 1e-20); s itself if k is 1
// times `scaling`. Neither bias nor `by` enters p or has a gradient.
#pragma once
#include "graph/builder.h"
#include "ops/router_score.h"

namespace megalith {

struct RouteSpec {
  RouterScore score = RouterScore::softmax;
  bool pre_softmax = false;
  i64 topk = 1;
  i64 groups = 0, group_topk = 0, group_best = 0;  // groups 0: none
  double scaling = 1;
  bool bias = false, by = false;  // which inputs exist; not both

  void fields(auto&& v) const {
    v("score", name_of(score)), v("pre_softmax", pre_softmax), v("topk", topk);
    if (groups) v("groups", groups), v("group_topk", group_topk), v("group_best", group_best);
    v("scaling", scaling);
    if (bias) v("bias", bias);
    if (by) v("by", by);
  }
  // Error if these settings do not fit this number of experts.
  void check_experts(i64 experts) const;
};

struct Route {
  static constexpr std::string_view name = "route";
  RouteSpec at;
  void fields(auto&& v) const { at.fields(v); }
  std::vector<Type> infer(const InferArgs& a) const;
  std::vector<Value> grad(Builder& b, const Node& n, std::span<const Value> dys) const;
  Cost cost(Types ins, Types outs) const {
    return {double(8 + at.topk) * double(ins[0].elements()), total_bytes(ins, outs)};
  }
};

// dp [s,b,k], z [s,b,e], choice [s,b,k] -> dz [s,b,e]. The choice is a constant.
struct RouteGrad {
  static constexpr std::string_view name = "route_grad";
  RouteSpec at;
  void fields(auto&& v) const { at.fields(v); }
  LayoutRule rule() const { return {.spec = "sbk,sbe,sbk->sbe", .linear = {{0}}, .whole = "ek"}; }
  std::vector<DType> dtypes(Types ins) const { return {ins[1].dtype}; }
  std::vector<Value> grad(Builder&, const Node&, std::span<const Value>) const { no_grad(name); }
  Cost cost(Types ins, Types outs) const { return {8.0 * double(ins[1].elements()), total_bytes(ins, outs)}; }
};

}  // namespace megalith
