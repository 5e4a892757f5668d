#include "passes/end_of_transfer.h"

#include <algorithm>
#include <set>

#include "graph/relayout_op.h"
#include "passes/pass.h"

namespace megalith {

bool adds_to_gradient(const Graph& g, const Node& n) {
  return std::ranges::any_of(
      n.op.aliases(), [&](const Alias& a) { return a.must && g.info(n.ins[size_t(a.in)]).role == Role::gradient; });
}

void move_nodes(Graph& g, size_t to, const std::vector<size_t>& moved) {
  const std::set<size_t> going(moved.begin(), moved.end());
  std::vector<Node> nodes;
  for (size_t i = 0; i <= g.nodes.size(); ++i) {
    if (i == to)
      for (const size_t k : moved) nodes.push_back(g.nodes[k]);
    if (i < g.nodes.size() && !going.count(i)) nodes.push_back(g.nodes[i]);
  }
  set_nodes(g, std::move(nodes));
}

void end_before_reader(Graph& g, Value begun) {
  std::vector<Node> nodes = std::move(g.nodes);
  const size_t maker = size_t(g.info(begun).node);
  const auto reads = [&](const Node& n) { return std::ranges::count(n.ins, begun) > 0; };
  const auto first = std::ranges::find_if(nodes.begin() + i64(maker) + 1, nodes.end(), reads);
  check(first != nodes.end(), "no node reads the rows gathered for experts");
  const Value done{int(g.values.size())};
  g.values.push_back(ValueInfo(g.info(begun)));
  const Node& transfer = nodes[maker];
  Node wait{Wait{}, {begun, transfer.ins[0]}, {done}, transfer.phase, transfer.origin};
  for (auto n = first; n != nodes.end(); ++n) std::ranges::replace(n->ins, begun, done);
  nodes.insert(first, std::move(wait));
  set_nodes(g, std::move(nodes));
}

}  // namespace megalith
