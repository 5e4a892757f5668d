// The output of an activation or a norm is an input of the next products and of their weight gradients. Instead of
// keeping it, the backward kernel, which reads the same inputs anyway, writes it again (`with_output`). The weight
// gradients read that, and the forward's buffer is freed in the forward. They move after the gradient if they were
// before it:
//   dy w^T, dw += dy y, gradient   ->   dy w^T, gradient and y, dw += dy y
// Results are the same to the bit; the price is that y is written twice. Between y and the products there may be a
// relayout that moves no data; it is repeated. For experts' rows in parts the backward itself repeats the activation;
// its gradient writes it instead.
#include <algorithm>
#include <optional>

#include "graph/relayout_op.h"
#include "ops/activate.h"
#include "ops/expert_activation.h"
#include "ops/layer_norm.h"
#include "ops/rms_norm.h"
#include "ops/swiglu.h"
#include "passes/pass.h"

namespace megalith {

namespace {

// The gradient's op with `with_output`, if the nodes have these kinds and belong together. shared: the number of
// forward inputs that the gradient also has, from its second one on.
template <class Forward, class Gradient>
std::optional<AnyOp> with_output_of(const Node& forward, const Node& gradient, int shared) {
  const auto* g = gradient.op.get_if<Gradient>();
  if (!g || g->with_output || !forward.op.get_if<Forward>()) return {};
  if (!std::equal(forward.ins.begin(), forward.ins.begin() + shared, gradient.ins.begin() + 1)) return {};
  if (!std::equal(forward.outs.begin() + 1, forward.outs.end(), gradient.ins.begin() + 1 + shared)) return {};
  Gradient out = *g;
  out.with_output = true;
  return AnyOp(out);
}

std::optional<AnyOp> with_output_of(const Node& forward, const Node& gradient) {
  if (auto op = with_output_of<Swiglu, SwigluGrad>(forward, gradient, 1)) return op;
  if (auto op = with_output_of<ExpertActivation, ExpertActivationGrad>(forward, gradient, 3)) return op;
  if (auto op = with_output_of<Activate, ActivateGrad>(forward, gradient, 1)) return op;
  if (auto op = with_output_of<RmsNorm, RmsNormGrad>(forward, gradient, 2)) return op;
  return with_output_of<LayerNorm, LayerNormGrad>(forward, gradient, 2);
}

class Rematerializing {
 public:
  explicit Rematerializing(Graph& g) : g_(g) {
    for (const Node& n : g.nodes) {
      const bool repeated = n.phase == Phase::backward && n.op.get_if<ExpertActivation>();
      if ((n.phase == Phase::forward || repeated) && !n.ins.empty()) readers_[n.ins[0]].push_back(n.outs[0]);
    }
    for (auto& [name, v] : g.outputs) outputs_.push_back(v);
  }

  bool run() {
    bool changed = false;
    for (size_t i = 0; i < g_.nodes.size(); ++i)
      if (g_.nodes[i].phase == Phase::backward && g_.nodes[i].ins.size() > 1) changed |= rematerialize(i);
    if (changed) remove_dead(g_);  // ops that the backward repeated
    return changed;
  }

 private:
  // Makes what belongs to the gradient at i again there, if the backward reads it.
  bool rematerialize(size_t i) {
    const auto forwards = readers_.find(g_.nodes[i].ins[1]);
    if (forwards == readers_.end()) return false;
    for (const Value made : forwards->second) {
      const Node& forward = g_.nodes[size_t(g_.info(made).node)];
      const std::optional<AnyOp> op = with_output_of(forward, g_.nodes[i]);
      if (!op) continue;
      const Value y = forward.outs[0];
      if (std::ranges::count(outputs_, y) || !move_readers_behind(i, y)) return false;
      write_output(*op, y, forward.op.get_if<LayerNorm>() ? forward.ins[2] : Value{});
      return true;
    }
    return false;
  }

  // The forward's nodes that change the layout of y itself.
  std::vector<int> relayouts_of(Value y) const {
    std::vector<int> out;
    if (const auto it = readers_.find(y); it != readers_.end())
      for (const Value made : it->second) {
        const int r = g_.info(made).node;
        if (const auto* op = g_.nodes[r].op.get_if<Relayout>(); op && op->transfer == Transfer::none) out.push_back(r);
      }
    return out;
  }

  // Moves the nodes before i that read y, and their dependents, directly after node i; at_ is then the new index of
  // node i. False if node i depends on them, or if nothing reads y.
  bool move_readers_behind(size_t i, Value y) {
    std::vector<bool> moves(g_.nodes.size());
    std::vector<Value> late = {y};
    for (int r : relayouts_of(y)) late.push_back(g_.nodes[r].outs[0]);
    const auto reads_late = [&](const Node& n) {
      return std::ranges::any_of(n.ins, [&](Value v) { return std::ranges::count(late, v) > 0; });
    };
    size_t first = i;
    bool any = false;
    for (size_t k = 0; k < g_.nodes.size(); ++k) {
      const Node& n = g_.nodes[k];
      if (n.phase != Phase::backward || !reads_late(n)) continue;
      any = true;
      if (k == i) return false;
      if (k > i) break;
      moves[k] = true, first = std::min(first, k);
      late.insert(late.end(), n.outs.begin(), n.outs.end());
    }
    at_ = i;
    if (first < i) reorder(first, i, moves);
    return any;
  }

  void reorder(size_t first, size_t i, const std::vector<bool>& moves) {
    std::vector<Node> stay, go;
    for (size_t k = first; k <= i; ++k) (moves[k] ? go : stay).push_back(std::move(g_.nodes[k]));
    at_ = first + stay.size() - 1;
    std::ranges::move(stay, g_.nodes.begin() + i64(first));
    std::ranges::move(go, g_.nodes.begin() + i64(at_) + 1);
    for (size_t k = first; k <= i; ++k)
      for (Value v : g_.nodes[k].outs) g_.values[v.id].node = int(k);
  }

  // c: of LayerNorm, which its gradient lacks.
  void write_output(const AnyOp& op, Value y, Value c) {
    Node& n = g_.nodes[at_];
    n.op = op;
    if (c) n.ins.push_back(c);
    const Value output = copy_of(y);
    n.outs.insert(n.outs.begin() + rematerialized_output(op), output);
    const std::vector<int> relayouts = relayouts_of(y);
    std::vector<Node> nodes = std::move(g_.nodes);
    const auto replace = [&](Value v, Value by) {
      for (Node& reader : nodes)
        if (reader.phase == Phase::backward) std::ranges::replace(reader.ins, v, by);
    };
    replace(y, output);
    for (int r : relayouts) {
      if (!std::ranges::any_of(nodes, [&](const Node& n) {
            return n.phase == Phase::backward && std::ranges::count(n.ins, nodes[r].outs[0]);
          }))
        continue;
      Node relayout = nodes[r];
      const Value from = relayout.outs[0], to = copy_of(from);
      relayout.ins = {output}, relayout.outs = {to};
      relayout.phase = Phase::backward, relayout.origin = nodes[at_].origin;
      replace(from, to);
      nodes.insert(nodes.begin() + i64(at_) + 1, std::move(relayout));
    }
    set_nodes(g_, std::move(nodes));
  }

  Value copy_of(Value v) {
    g_.values.push_back(g_.info(v));
    return {int(g_.values.size()) - 1};
  }

  Graph& g_;
  std::map<Value, std::vector<Value>> readers_;  // of the forward, and what repeats it: first results by first input
  std::vector<Value> outputs_;
  size_t at_ = 0;
};

}  // namespace

bool rematerialize(Graph& g) { return Rematerializing(g).run(); }

int rematerialized_output(const AnyOp& op) {
  const auto result = [&]<class Gradient>(int y) {
    const auto* gradient = op.get_if<Gradient>();
    return gradient && gradient->with_output ? y : -1;
  };
  return std::max({result.template operator()<SwigluGrad>(1), result.template operator()<ActivateGrad>(1),
                   result.template operator()<ExpertActivationGrad>(2), result.template operator()<RmsNormGrad>(2),
                   result.template operator()<LayerNormGrad>(3)});
}

}  // namespace megalith
