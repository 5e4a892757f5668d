#include "step/split_weights.h"

#include <algorithm>

namespace megalith {

// Nodes of the backward whose results all are gradients' accumulators.
static std::vector<bool> only_accumulate(const Graph& g) {
  std::vector<bool> accumulated(g.values.size()), out(g.nodes.size());  // accumulated: a leaf, or with more terms in it
  for (size_t v = 0; v < g.values.size(); ++v) accumulated[v] = g.values[v].role == Role::gradient;
  for (size_t i = 0; i < g.nodes.size(); ++i) {
    const Node& n = g.nodes[i];
    if (n.phase != Phase::backward) continue;
    for (const Alias& a : n.op.aliases())
      if (a.must && accumulated[size_t(n.ins[size_t(a.in)].id)]) accumulated[size_t(n.outs[size_t(a.out)].id)] = true;
    out[i] = !n.outs.empty() && std::ranges::all_of(n.outs, [&](Value v) { return accumulated[size_t(v.id)]; });
  }
  return out;
}

void split_weights(Graph& g) {
  const std::vector<bool> may_wait = only_accumulate(g);
  std::vector<bool> read(g.values.size());  // in the backward
  for (size_t i = g.nodes.size(); i-- > 0;) {
    Node& n = g.nodes[i];
    if (n.phase != Phase::backward) continue;
    if (may_wait[i] && std::ranges::none_of(n.outs, [&](Value v) { return read[size_t(v.id)]; }))
      n.phase = Phase::weights;
    else
      for (const Value v : n.ins) read[size_t(v.id)] = true;
  }
}

}  // namespace megalith
