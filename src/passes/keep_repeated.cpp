// The backward repeats ops whose `repeats` is set (graph/builder.h, saved()), casts to codes, and their amax. If the
// forward has computed the same result from the same inputs, its result is kept and read instead. This is faster and
// needs memory. The results are the same.
#include "ops/quantize.h"
#include "passes/pass.h"

namespace megalith {

bool keep_repeated(Graph& g) {
  std::map<std::pair<std::string, std::vector<Value>>, const Node*> made;  // by the forward
  std::map<Value, Value> by;
  std::vector<bool> drop(g.nodes.size());
  for (size_t i = 0; i < g.nodes.size(); ++i) {
    const Node& n = g.nodes[i];
    if (!n.op.repeats() && !n.op.get_if<Quantize>() && !n.op.get_if<Amax>()) continue;
    std::vector<Value> ins = n.ins;
    for (Value& in : ins)
      if (const auto it = by.find(in); it != by.end()) in = it->second;
    const auto [it, is_first] = made.try_emplace({n.op.print(), ins}, &n);
    if (is_first) continue;
    drop[i] = true;
    for (size_t k = 0; k < n.outs.size(); ++k) by[n.outs[k]] = it->second->outs[k];
  }
  if (by.empty()) return false;
  replace_uses(g, by);
  drop_nodes(g, drop);
  return true;
}

}  // namespace megalith
