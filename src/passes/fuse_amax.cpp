// A cast whose scale follows from the amax of its whole input reads the input twice. With this pass, the op that writes
// the input also gives the amax:
//   y = swiglu(x), a = amax(y)   ->   y, a = swiglu(x)
// The amax is that of the rounded result. So the amax, the codes and the scales are bitwise the same as without this
// pass.
#include <optional>

#include "ops/quantize.h"
#include "ops/rms_norm.h"
#include "ops/rope.h"
#include "ops/swiglu.h"
#include "passes/pass.h"

namespace megalith {

namespace {

template <class T>
std::optional<AnyOp> giving_amax(const AnyOp& op) {
  const T* t = op.get_if<T>();
  if (!t || t->gives_amax) return {};
  T out = *t;
  out.gives_amax = true;
  return AnyOp(out);
}

// The op with the amax of its first result as an additional last result. None if the op cannot give it.
std::optional<AnyOp> with_amax(const AnyOp& op) {
  if (auto out = giving_amax<Swiglu>(op)) return out;
  if (auto out = giving_amax<SwigluGrad>(op)) return out;
  if (auto out = giving_amax<RmsNorm>(op)) return out;
  if (auto out = giving_amax<RmsNormGrad>(op)) return out;
  return giving_amax<Rope>(op);
}

// True if n computes the amax of a data-parallel rank's whole part of v.
bool is_of_tensor(const Graph& g, const Node& n, Value v) {
  const auto* amax = n.op.get_if<Amax>();
  return amax && amax->box == tensor_box(g.mesh, g.type(v));
}

}  // namespace

bool fuse_amax(Graph& g) {
  std::vector<bool> drop(g.nodes.size());
  bool changed = false;
  for (size_t i = 0; i < g.nodes.size(); ++i) {
    const Node& n = g.nodes[i];
    if (n.ins.empty() || !is_of_tensor(g, n, n.ins[0]) || g.info(n.ins[0]).node < 0) continue;
    Node& source = g.nodes[size_t(g.info(n.ins[0]).node)];
    if (source.phase != n.phase || source.outs[0] != n.ins[0]) continue;
    const std::optional<AnyOp> op = with_amax(source.op);
    if (!op) continue;
    source.op = *op, source.outs.push_back(n.outs[0]);
    drop[i] = changed = true;
  }
  if (changed) drop_nodes(g, drop);
  return changed;
}

}  // namespace megalith
