// vocab_max and the vocab_sums that reads its result become one op, which reads the logits once. If ranks share the
// vocabulary, a reduction is between the two, and they stay separate.
#include "ops/cross_entropy.h"
#include "passes/pass.h"

namespace megalith {

bool fuse_loss(Graph& g) {
  std::vector<bool> drop(g.nodes.size());
  bool changed = false;
  for (size_t i = 0; i < g.nodes.size(); ++i) {
    const auto* sums = g.nodes[i].op.get_if<VocabSums>();
    if (!sums) continue;
    const Value logits = g.nodes[i].ins[0], labels = g.nodes[i].ins[1], m = g.nodes[i].ins[2];
    const int at = g.info(m).node;
    if (at < 0 || g.info(labels).node >= at) continue;
    Node& first = g.nodes[at];
    const auto* max = first.op.get_if<VocabMax>();
    if (!max || max->vocab != sums->vocab || first.ins[0] != logits || first.phase != g.nodes[i].phase) continue;
    first.op = VocabMaxSums{sums->vocab};
    first.ins = {logits, labels};
    first.outs = {m, g.nodes[i].outs[0]};
    drop[i] = changed = true;
  }
  drop_nodes(g, drop);
  return changed;
}

}  // namespace megalith
