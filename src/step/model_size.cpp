#include "step/model_size.h"

#include <algorithm>
#include <limits>
#include <set>

#include "mesh/groups.h"
#include "ops/attention.h"
#include "ops/cross_entropy.h"
#include "ops/einsum.h"
#include "ops/embedding.h"
#include "ops/grouped_product.h"

namespace megalith {

namespace {

double elements(const Shape& shape) {
  double n = 1;
  for (const i64 d : shape) n *= double(d);
  return n;
}

// Experts are shared out over all atoms of the expert axis; other weights over some of them at most.
bool is_of_experts(const Parameter& p) {
  return !p.type.layout.dims.empty() && (p.type.layout.dims[0].axes() & groups::expert) == groups::expert;
}

class Counter {
 public:
  Counter(const Graph& g, const std::vector<Parameter>& parameters) : g_(g) {
    for (const Parameter& p : parameters) {
      weights_.insert(p.value);
      if (p.kind == ParameterKind::embedding) tables_.insert(p.value);
    }
    for (const Parameter& p : unpacked(parameters)) {
      size_.by_kind[p.kind] += elements(p.true_shape());
      if (is_of_experts(p)) size_.experts += elements(p.true_shape());
      size_.padding += elements(p.type.shape) - elements(p.true_shape());
    }
  }

  ModelSize count() {
    for (const Node& n : g_.nodes) {
      follow_weights(n);
      for (Value v : n.outs) size_.largest = std::max(size_.largest, elements(g_.type(v).shape));
      if (const auto* op = n.op.get_if<Attention>()) attention(n, *op);
      if ((n.op.get_if<Einsum>() || n.op.get_if<GroupedProduct>()) && has_weight(n))
        size_.product_flops += kStep * flops(n.op, n);
      if (n.op.get_if<Embedding>() && tables_.contains(n.ins[1])) size_.looked_up += elements(g_.type(n.outs[0]).shape);
      if (n.op.get_if<VocabMax>()) size_.logits += elements(g_.type(n.ins[0]).shape);
    }
    return size_;
  }

 private:
  static constexpr double kStep = 3;  // the gradient of each factor costs as much as the forward

  bool is_weight(Value v) const { return weights_.contains(v); }
  bool has_weight(const Node& n) const {
    return std::ranges::any_of(n.ins, [&](Value v) { return is_weight(v); });
  }
  // A value computed from weights only, such as a gathered weight, counts as a weight.
  void follow_weights(const Node& n) {
    if (n.ins.empty() || !std::ranges::all_of(n.ins, [&](Value v) { return is_weight(v); })) return;
    weights_.insert(n.outs.begin(), n.outs.end());
  }

  double flops(const AnyOp& op, const Node& n) const {
    constexpr double kCountable = 0x1p56;  // a cost counts bytes too, as i64
    for (const auto* values : {&n.ins, &n.outs})
      for (Value v : *values)
        if (elements(g_.type(v).shape) >= kCountable) return std::numeric_limits<double>::infinity();
    std::vector<Type> ins, outs;
    for (Value v : n.ins) ins.push_back(g_.type(v));
    for (Value v : n.outs) outs.push_back(g_.type(v));
    return op.cost(ins, outs).flops;
  }

  void attention(const Node& n, Attention op) {
    const size_t read = op.at.packed() ? 1 : 3;
    for (size_t i = 0; i < read; ++i) size_.attended += elements(g_.type(n.ins[i]).shape);
    size_.attended += elements(g_.type(n.outs[0]).shape);
    op.at.window = 0;
    size_.attention_flops += kStep * flops(op, n);
  }

  const Graph& g_;
  std::set<Value> weights_, tables_;
  ModelSize size_;
};

}  // namespace

double ModelSize::parameters() const {
  double n = 0;
  for (const auto& [kind, elements] : by_kind) n += elements;
  return n;
}

ModelSize size_of(const Model& model, const ModelPiece& piece) {
  Graph graph;
  Builder builder(graph);
  const Built built = model.build(builder, piece, {.dropout = false});
  return Counter(graph, built.parameters).count();
}

}  // namespace megalith
