#include "passes/recompute.h"

#include <algorithm>

#include "ops/expert_activation.h"

namespace megalith {

namespace {

// Nodes to recompute, identified by their first results, because indices of nodes change.
struct Part {
  std::vector<Value> nodes;
  bool keeps_results = true;  // keep the values that the part reads from outside; false: keep none
  bool for_first = false;     // not worth it unless a node's first result is wanted (a norm's others are small)
};

// The chunk of layers that a layer is done again with, or -1.
i64 chunk_of(const RecomputeConfig& c, i64 layer) {
  if (c.method == RecomputeConfig::Method::uniform) return layer / c.num_layers;
  return layer < c.num_layers ? layer : -1;
}

// The module with which a node after the norm is recomputed; "" if none.
std::string part_of(const Origin& at, const RecomputeConfig& c) {
  const bool expert = at.module == "moe", shared = at.module == "shared_experts";
  if ((expert || shared) && c.recomputes("moe")) return "moe";
  if (shared && c.recomputes("shared_experts")) return "shared_experts";
  if (at.up_projection && c.recomputes("mla_up_proj")) return "mla_up_proj";
  return at.module == "mlp" && c.recomputes("mlp") ? "mlp" : "";
}

std::vector<Part> parts_of(const Graph& g, const RecomputeConfig& c) {
  std::map<std::pair<std::string, i64>, Part> chunks;              // by stack and chunk
  std::map<std::tuple<std::string, i64, std::string>, Part> mlps;  // by stack, layer and part
  std::vector<Part> small;
  for (const Node& n : g.nodes) {
    const Origin& at = n.origin;
    if (n.phase != Phase::forward || at.layer < 0) continue;
    const Value v = n.outs[0];
    if (c.granularity == RecomputeConfig::Granularity::full) {
      if (const i64 chunk = chunk_of(c, at.layer); chunk >= 0) chunks[{at.stack, chunk}].nodes.push_back(v);
    } else if (at.norm) {
      if (c.recomputes("layernorm")) small.push_back({{v}, false, true});
    } else if (const std::string part = part_of(at, c); !part.empty()) {
      Part& whole = mlps[{at.stack, at.layer, part}];
      whole.nodes.push_back(v), whole.keeps_results = !at.up_projection;
    } else if (n.op.get_if<ExpertActivation>() && c.recomputes("moe_act")) {
      small.push_back({{v}, false, true});
    }
  }
  std::vector<Part> out;
  for (auto& [place, part] : chunks) out.push_back(std::move(part));
  for (auto& [place, part] : mlps) out.push_back(std::move(part));
  out.insert(out.end(), small.begin(), small.end());  // last: a recomputed MLP reads its norm again
  return out;
}

// One part's repetition.
class Repetition {
 public:
  Repetition(Graph& g, const Part& part) : g_(g), inside_(g.nodes.size()), wanted_(g.values.size()) {
    for (Value v : part.nodes) inside_[size_t(g.info(v).node)] = true;
    std::vector<bool> kept(g.values.size());
    if (part.keeps_results) keep_results(kept);
    for (int i = 0; i < int(g.nodes.size()); ++i) {
      if (g.nodes[i].phase != Phase::backward) continue;
      for (Value v : g.nodes[i].ins)
        if (made_inside(v) && !kept[size_t(v.id)]) {
          wanted_[size_t(v.id)] = true;
          if (first_use_ < 0) first_use_ = i;
        }
    }
    const auto wanted = [&](Value v) { return bool(wanted_[size_t(v.id)]); };
    if (part.for_first && std::none_of(part.nodes.begin(), part.nodes.end(), wanted)) first_use_ = -1;
    find_work(kept);
  }

  bool run() {
    if (first_use_ < 0) return false;
    std::map<Value, Value> again;
    auto latest = [&](Value v) { return again.count(v) ? again.at(v) : v; };
    std::vector<Node> work;
    for (int i : work_) {
      Node n = g_.nodes[i];
      n.phase = Phase::backward, n.origin.recomputed = true;
      for (Value& v : n.ins) v = latest(v);
      for (Value& v : n.outs) v = again[v] = copy_of(v);
      work.push_back(std::move(n));
    }
    for (Node& n : g_.nodes)
      if (n.phase == Phase::backward)
        for (Value& v : n.ins)
          if (wanted_[size_t(v.id)]) v = latest(v);
    std::vector<Node> nodes = std::move(g_.nodes);
    nodes.insert(nodes.begin() + first_use_, std::make_move_iterator(work.begin()),
                 std::make_move_iterator(work.end()));
    set_nodes(g_, std::move(nodes));
    return true;
  }

 private:
  bool made_inside(Value v) const { return g_.info(v).node >= 0 && inside_[size_t(g_.info(v).node)]; }

  void keep_results(std::vector<bool>& kept) const {
    for (size_t i = 0; i < g_.nodes.size(); ++i)
      if (g_.nodes[i].phase == Phase::forward && !inside_[i])
        for (Value v : g_.nodes[i].ins) kept[size_t(v.id)] = true;
  }

  // The nodes on which the wanted values depend, back to kept values, in order.
  void find_work(const std::vector<bool>& kept) {
    std::vector<bool> needed = wanted_;
    for (int i = int(inside_.size()) - 1; i >= 0; --i) {
      if (!inside_[size_t(i)]) continue;
      const Node& n = g_.nodes[i];
      if (!std::any_of(n.outs.begin(), n.outs.end(), [&](Value v) { return needed[size_t(v.id)]; })) continue;
      work_.push_back(i);
      for (Value v : n.ins)
        if (made_inside(v) && !kept[size_t(v.id)]) needed[size_t(v.id)] = true;
    }
    std::reverse(work_.begin(), work_.end());
  }

  Value copy_of(Value v) {
    g_.values.push_back(g_.info(v));
    wanted_.push_back(false);
    return {int(g_.values.size()) - 1};
  }

  Graph& g_;
  std::vector<bool> inside_, wanted_;  // by node; by value: the values of this part that the backward reads
  std::vector<int> work_;
  int first_use_ = -1;
};

}  // namespace

bool RecomputeConfig::recomputes(const std::string& module) const {
  return granularity == Granularity::selective && std::count(modules.begin(), modules.end(), module) > 0;
}

Pass recompute_pass(const RecomputeConfig& config) {
  return {"recompute", [config](Graph& g) {
            bool changed = false;
            for (const Part& part : parts_of(g, config)) changed |= Repetition(g, part).run();
            return changed;
          }};
}

}  // namespace megalith
