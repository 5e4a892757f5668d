// The order at the end of a step. An accumulation moves directly after its last input. So does the part of the update
// that needs one gradient (its reduction, its square). So a weight gradient is next to the data gradient of its layer.
// Activations and output gradients are freed layer by layer, and a gradient is squared while it is in cache.
#include <algorithm>

#include "graph/relayout_op.h"
#include "passes/gradients.h"
#include "passes/pass.h"

namespace megalith {

namespace {

bool updates_in_place(const AnyOp& op) {
  const std::vector<Alias> aliases = op.aliases();
  return std::any_of(aliases.begin(), aliases.end(), [](const Alias& a) { return a.must; });
}

// Pipeline stages have different graphs. Only if such nodes keep their order is it the same on all stages.
bool meets_other_stages(const AnyOp& op) {
  const auto* r = op.get_if<Relayout>();
  return r && r->axes.meets(groups::pipeline);
}

}  // namespace

bool hoist(Graph& g) {
  int last_meeting = 0;                                            // its anchor
  std::vector<int> anchor(g.nodes.size()), order(g.nodes.size());  // anchor: the node that node i follows, or itself
  bool changed = false;
  for (int i = 0; i < int(g.nodes.size()); ++i) {
    const Node& n = g.nodes[i];
    order[i] = anchor[i] = i;
    if (n.op.get_if<Wait>() || updates_untrained(g, n)) continue;  // as late as possible
    if (n.phase != Phase::update && !updates_in_place(n.op)) continue;
    anchor[i] = 0;
    for (Value v : n.ins)
      if (g.info(v).node >= 0) anchor[i] = std::max(anchor[i], anchor[g.info(v).node]);
    if (meets_other_stages(n.op)) last_meeting = anchor[i] = std::max(anchor[i], last_meeting);
    changed |= anchor[i] != i - 1;
  }
  std::stable_sort(order.begin(), order.end(), [&](int a, int b) { return anchor[a] < anchor[b]; });
  std::vector<Node> nodes;
  for (int i : order) nodes.push_back(std::move(g.nodes[i]));
  set_nodes(g, std::move(nodes));
  return changed;
}

}  // namespace megalith
