// The gradient of a bias is the sum over all tokens of an output gradient. If an activation's or a norm's gradient
// produces that, it computes the sum too (`bias`). This saves one read.
#include <optional>

#include "ops/activate.h"
#include "ops/layer_norm.h"
#include "ops/rms_norm.h"
#include "ops/sum.h"
#include "passes/pass.h"

namespace megalith {

namespace {

template <class Gradient>
std::optional<AnyOp> fused_as(const AnyOp& op) {
  const auto* gradient = op.get_if<Gradient>();
  if (!gradient || gradient->bias) return {};
  Gradient out = *gradient;
  out.bias = true;
  return AnyOp(out);
}

// The op with the sum of its first result as an additional result. Empty if it cannot do that, or does it already.
std::optional<AnyOp> with_bias_of_any(const AnyOp& op) {
  if (auto out = fused_as<ActivateGrad>(op)) return out;
  if (auto out = fused_as<LayerNormGrad>(op)) return out;
  return fused_as<RmsNormGrad>(op);
}

}  // namespace

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
    const std::optional<AnyOp> fused = with_bias_of_any(n.op);
    if (!fused || n.outs[0] != dx || n.phase != g.nodes[i].phase) continue;
    const auto [ins, outs] = split_spec(sum->spec);
    if (outs[0] != ins[0].substr(ins[0].size() - 1)) continue;
    if (fused->infer(infer_args(g, n.ins, n.phase)).back() != g.type(result)) continue;
    n.op = *fused;
    n.outs.push_back(result);
    g.values[result.id].node = at;
    drop[i] = changed = true;
  }
  drop_nodes(g, drop);
  return changed;
}

}  // namespace megalith
