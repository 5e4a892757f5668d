// Casts of weights to codes run in a step's first micro-batch. The others read the same codes: weights and the scales
// of delayed scaling change only in the update. This is faster and needs memory for the codes of all weights. The
// results are the same.
#include <algorithm>

#include "graph/relayout_op.h"
#include "ops/delayed_scale.h"
#include "ops/quantize.h"
#include "ops/shard_codes.h"
#include "passes/pass.h"

namespace megalith {

namespace {

bool prepares_codes(const AnyOp& op) {
  if (const auto* cast = op.get_if<Quantize>()) return !cast->stochastic;
  if (const auto* r = op.get_if<Relayout>()) return r->transfer == Transfer::all_reduce_max && r->lane == 0;
  return op.get_if<Amax>() || op.get_if<SharedAmax>() || op.get_if<TurnCodes>();
}

// Whether the value is the same in all micro-batches of a step.
bool is_constant(const Graph& g, Value v) {
  const ValueInfo& info = g.info(v);
  if (info.node >= 0) return g.nodes[size_t(info.node)].first_only;
  return info.role == Role::parameter || info.role == Role::cache;
}

}  // namespace

bool cast_once(Graph& g) {
  std::map<std::pair<std::string, std::vector<Value>>, const Node*> made;
  std::map<Value, Value> by;
  std::vector<bool> drop(g.nodes.size());
  bool changed = false;
  for (size_t i = 0; i < g.nodes.size(); ++i) {
    Node& n = g.nodes[i];
    if (n.phase == Phase::update || n.first_only || !prepares_codes(n.op)) continue;
    for (Value& in : n.ins)
      if (const auto it = by.find(in); it != by.end()) in = it->second;
    if (!std::ranges::all_of(n.ins, [&](Value v) { return is_constant(g, v); })) continue;
    n.first_only = changed = true;
    const auto [it, is_first] = made.try_emplace({n.op.print(), n.ins}, &n);
    if (is_first) continue;
    drop[i] = true;
    for (size_t k = 0; k < n.outs.size(); ++k) by[n.outs[k]] = it->second->outs[k];
  }
  replace_uses(g, by);
  drop_nodes(g, drop);
  return changed;
}

}  // namespace megalith
