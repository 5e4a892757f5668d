// On an axis with one rank all states are equal. Types keep such axes while a model is built, so that a build for one
// rank finds layout mistakes too. This pass erases the axes, and the relayouts over them. A relayout into a leaf
// becomes a copy into it.
#include <set>

#include "graph/relayout_op.h"
#include "ops/reshape.h"
#include "passes/pass.h"

namespace megalith {

namespace {

Layout without_unit_axes(const Mesh& mesh, Layout l) {
  for (AxisList& dim : l.dims) std::erase_if(dim, [&](const AxisUse& u) { return mesh.n(u.axis) == 1; });
  l.partial = mesh.used(l.partial), l.copy = mesh.used(l.copy), l.max = mesh.used(l.max);
  return l;
}

// The op without these axes: some ops have axes or types in their attributes.
AnyOp rewritten(const Mesh& mesh, const AnyOp& op) {
  if (const auto* r = op.get_if<Relayout>()) {
    Relayout out = *r;
    out.axes = mesh.used(out.axes);
    return out;
  }
  if (const auto* ones = op.get_if<Ones>()) {
    Ones out = *ones;
    out.type.layout = without_unit_axes(mesh, out.type.layout);
    return out;
  }
  if (const auto* reshape = op.get_if<Reshape>()) {
    Reshape out = *reshape;
    for (Type& t : out.back_to) t.layout = without_unit_axes(mesh, t.layout);
    return out;
  }
  return op;
}

}  // namespace

bool erase_unit_axes(Graph& g) {
  bool changed = false;
  for (ValueInfo& v : g.values) {
    const Layout l = without_unit_axes(g.mesh, v.type.layout);
    changed |= l != v.type.layout;
    v.type.layout = l;
  }
  std::vector<bool> drop(g.nodes.size());
  std::map<Value, Value> same;
  std::set<Value> copied;
  for (size_t i = 0; i < g.nodes.size(); ++i) {
    Node& n = g.nodes[i];
    n.op = rewritten(g.mesh, n.op);
    const auto* r = n.op.get_if<Relayout>();
    const bool waits_for_none = n.op.get_if<Wait>() && (same.count(n.ins[0]) || copied.count(n.ins[0]));
    if (r && r->axes.empty() && r->into)
      n.op = PutBack{}, copied.insert(n.outs[0]);
    else if ((r && r->axes.empty()) || waits_for_none)
      drop[i] = true, same[n.outs[0]] = n.ins[0];
  }
  replace_uses(g, same);
  drop_nodes(g, drop);
  return changed;
}

}  // namespace megalith
