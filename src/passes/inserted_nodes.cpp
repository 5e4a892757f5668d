#include "passes/inserted_nodes.h"

#include <algorithm>
#include <iterator>

#include "passes/pass.h"

namespace megalith {

std::vector<Value> InsertedNodes::before(int at, AnyOp op, const std::vector<Value>& ins) {
  const Node& next = g_.nodes[size_t(at)];
  Node n{std::move(op), ins, {}, next.phase, next.origin};
  for (const Type& type : n.op.infer(infer_args(g_, ins, n.phase))) {
    n.outs.push_back({int(g_.values.size())});
    g_.values.push_back({.type = type, .node = at});
  }
  before_[at].push_back(n);
  return n.outs;
}

Relayout InsertedNodes::relayout(Value v, AxisSet axes, State to, Order order) const {
  const Type& type = g_.type(v);
  const RelayoutPlan plan = relayout_plan(g_.mesh, type.shape, type.layout, axes, to, order);
  Relayout op{.axes = axes, .from = plan.from, .to = to};
  op.from_order = plan.from_order, op.order = order, op.transfer = plan.transfer;
  return op;
}

bool InsertedNodes::place() {
  if (before_.empty() && behind_.empty()) return false;
  std::vector<Node> nodes;
  const auto put = [&](std::map<int, std::vector<Node>>& of, int at) {
    if (const auto it = of.find(at); it != of.end()) std::ranges::move(it->second, std::back_inserter(nodes));
  };
  for (int i = 0; i < int(g_.nodes.size()); ++i) {
    put(before_, i);
    nodes.push_back(std::move(g_.nodes[size_t(i)]));
    put(behind_, i);
  }
  set_nodes(g_, std::move(nodes));
  return true;
}

}  // namespace megalith
