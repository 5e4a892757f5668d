#include "passes/pass.h"

#include <chrono>

#include "graph/relayout_op.h"

namespace megalith {

// Among the names of passes that are off: the verification after each pass.
static constexpr const char* kVerify = "verify";

std::vector<PassReport> run_passes(Graph& g, const std::vector<Pass>& passes, const std::set<std::string>& off) {
  using clock = std::chrono::steady_clock;
  for (const std::string& name : off) {
    bool known = name == kVerify;
    for (const Pass& p : passes) known |= p.name == name;
    check(known, "no pass is called '{}'", name);
  }
  std::vector<PassReport> reports;
  std::string unverified;  // that said they changed nothing, since the graph was verified
  const auto verify_after = [&](const std::string& names) {
    try {
      if (!off.contains(kVerify)) verify(g);
    } catch (const Error& e) {
      fail("after pass {}: {}", names, e.what());
    }
    unverified.clear();
  };
  for (const Pass& p : passes) {
    if (off.count(p.name)) continue;
    const auto start = clock::now();
    PassReport r{p.name, p.run(g)};
    if (r.changed)
      verify_after(p.name);
    else
      unverified += (unverified.empty() ? "" : ", ") + p.name;
    r.ms = std::chrono::duration<double, std::milli>(clock::now() - start).count();
    r.nodes = g.nodes.size();
    reports.push_back(r);
  }
  if (!unverified.empty()) verify_after(unverified);
  return reports;
}

std::string print(const std::vector<PassReport>& reports) {
  std::string out;
  for (const PassReport& r : reports)
    out += fmt::format("pass {:<18} {:>8.2f} ms  {:>6} nodes  {}{}{}\n", r.name, r.ms, r.nodes,
                       r.changed ? "changed" : "no change", r.of.empty() ? "" : ", ", r.of);
  return out;
}

std::vector<Pass> standard_passes(bool with_ring) {
  std::vector<Pass> out = {{"erase-unit-axes", erase_unit_axes},
                           {"ring", ring},
                           {"remove-dead", remove_dead},
                           {"keep-repeated", keep_repeated},
                           {"transpose-codes", transpose_codes},
                           {"fuse-accumulate", fuse_accumulate},
                           {"fuse-bias", fuse_bias},
                           {"fuse-add", fuse_add},
                           {"fuse-code-add", fuse_code_add},
                           {"fuse-residual", fuse_residual},
                           {"fuse-bias-grad", fuse_bias_grad},
                           {"fuse-loss", fuse_loss},
                           {"fuse-loss-grad", fuse_loss_grad},
                           {"mark-rows", mark_rows},
                           {"multi-tensor", multi_tensor},
                           {"rematerialize", rematerialize},
                           {"fuse-amax", fuse_amax},
                           {"hoist", hoist}};
  if (!with_ring) std::erase_if(out, [](const Pass& p) { return p.name == "ring"; });
  return out;
}

std::vector<int> count_uses(const Graph& g) {
  std::vector<int> uses(g.values.size());
  for (const Node& n : g.nodes)
    for (Value v : n.ins) ++uses[v.id];
  for (auto& [name, v] : g.outputs) ++uses[v.id];
  return uses;
}

void replace_uses(Graph& g, const std::map<Value, Value>& by) {
  auto latest = [&](Value v) {
    for (auto it = by.find(v); it != by.end(); it = by.find(v)) v = it->second;
    return v;
  };
  for (Node& n : g.nodes)
    for (Value& v : n.ins) v = latest(v);
  for (auto& [name, v] : g.outputs) v = latest(v);
}

void drop_nodes(Graph& g, const std::vector<bool>& drop) {
  std::vector<Node> kept;
  for (size_t i = 0; i < g.nodes.size(); ++i)
    if (!drop[i]) kept.push_back(std::move(g.nodes[i]));
  set_nodes(g, std::move(kept));
}

void set_nodes(Graph& g, std::vector<Node> nodes) {
  g.nodes = std::move(nodes);
  for (size_t i = 0; i < g.nodes.size(); ++i)
    for (Value v : g.nodes[i].outs) g.values[v.id].node = int(i);
}

bool remove_dead(Graph& g) {
  std::vector<bool> used(g.values.size()), drop(g.nodes.size());
  for (auto& [name, v] : g.outputs) used[v.id] = true;
  bool changed = false;
  for (int i = int(g.nodes.size()) - 1; i >= 0; --i) {
    const Node& n = g.nodes[i];
    bool live = false;
    for (Value v : n.outs) live |= bool(used[v.id]);
    for (const Alias& a : n.op.aliases()) live |= a.must;  // it changes a leaf
    live |= n.op.get_if<Wait>() != nullptr;                // every started transfer needs a wait
    drop[i] = !live, changed |= !live;
    if (live)
      for (Value v : n.ins) used[v.id] = true;
  }
  drop_nodes(g, drop);
  return changed;
}

}  // namespace megalith
