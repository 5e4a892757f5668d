// The gradient of the bias before an activation is the sum of the activation's gradient over all tokens: an
// activate_grad that adds up what it writes (`bias`), so that it is not read once more.
#include "ops/activate.h"
#include "ops/sum.h"
#include "passes/pass.h"

namespace megalith {

bool fuse_bias_grad(Graph& g) {
  std::vector<bool> drop(g.nodes.size());
  bool changed = false;
  for (size_t i = 0; i < g.nodes.size(); ++i) {
    const auto* sum = g.nodes[i].op.get_if<Sum>();
    if (!sum) continue;
    const Value dx = g.nodes[i].ins[0], result = g.nodes[i].outs[0];
    const int at = g.info(dx).node;
    if (at < 0) continue;
    Node& n = g.nodes[at];
    const auto* gradient = n.op.get_if<ActivateGrad>();
    if (!gradient || gradient->bias || n.outs[0] != dx || n.phase != g.nodes[i].phase) continue;
    ActivateGrad fused = *gradient;
    fused.bias = true;
    const auto [ins, outs] = split_spec(sum->spec);
    if (outs[0] != ins[0].substr(ins[0].size() - 1)) continue;
    if (fused.infer(infer_args(g, n.ins, n.phase)).back() != g.type(result)) continue;
    n.op = fused;
    n.outs.push_back(result);
    g.values[result.id].node = at;
    drop[i] = changed = true;
  }
  drop_nodes(g, drop);
  return changed;
}

}  // namespace megalith
