#include "passes/offload_activations.h"

#include <algorithm>
#include <functional>
#include <set>

#include "graph/relayout_op.h"
#include "ops/host_copy.h"
#include "passes/stream_state.h"

namespace megalith {

namespace {

// Which values go.
class Choice {
 public:
  Choice(const Graph& g, const OffloadSpec& spec, const std::vector<KeptValue>& kept, const BusClock& clock)
      : g_(g), spec_(spec), kept_(kept), clock_(clock) {}

  std::vector<size_t> run() const {
    std::vector<size_t> wanted;
    for (size_t k = 0; k < kept_.size(); ++k)
      if (is_wanted(kept_[k])) wanted.push_back(k);
    double left = 0;  // bytes
    for (size_t k : wanted) left += double(clock_.bytes(k)) * spec_.config.fraction;
    if (priced()) std::ranges::stable_sort(wanted, std::greater{}, [&](size_t k) { return worth(k); });
    std::vector<size_t> chosen;
    double wait = 0;
    for (size_t k : wanted) {
      if (left <= 0) break;
      chosen.push_back(k);
      if (priced()) {
        const double longer = clock_.timetable(chosen).wait;
        if (longer - wait > clock_.made_again(k)) {
          chosen.pop_back();
          continue;
        }
        wait = longer;
      }
      left -= double(clock_.bytes(k));
    }
    return chosen;
  }

 private:
  bool priced() const { return spec_.config.modules.empty(); }
  // Its recomputation time, divided by its transfer time.
  double worth(size_t k) const { return clock_.made_again(k) / clock_.on_bus(k); }

  bool is_wanted(const KeptValue& k) const {
    if (local_type(g_.mesh, g_.type(k.value)).elements() < spec_.config.min_tensor_size) return false;
    if (priced()) return true;
    // The backward starts with the last layer, so nothing can overlap its fetches.
    if (!spec_.apart && k.stack == kept_.back().stack && k.layer == kept_.back().layer) return false;
    return std::ranges::any_of(k.modules,
                               [&](const std::string& m) { return std::ranges::count(spec_.config.modules, m) > 0; });
  }

  const Graph& g_;
  const OffloadSpec& spec_;
  const std::vector<KeptValue>& kept_;
  const BusClock& clock_;
};

class Offload {
 public:
  Offload(Graph& g, const OffloadSpec& spec)
      : g_(g),
        spec_(spec),
        kept_(kept_values(g)),
        clock_(g, kept_, spec.rates, spec.apart),
        before_(g.nodes.size() + 1) {}

  OffloadReport run() {
    const Timetable times = clock_.timetable(Choice(g_, spec_, kept_, clock_).run());
    report_.forward = clock_.forward(), report_.wait = times.wait;
    for (const Trip& t : times.trips) offload(t);
    std::vector<Node> old = std::move(g_.nodes), nodes;
    for (size_t i = 0; i <= old.size(); ++i) {
      for (std::vector<Node>* group : {&before_[i].store, &before_[i].stored, &before_[i].fetch, &before_[i].fetched})
        std::ranges::move(*group, std::back_inserter(nodes));
      if (i == old.size()) break;
      if (old[i].phase != Phase::forward)
        for (Value& v : old[i].ins)
          if (const auto copy = copies_.find(v); copy != copies_.end()) v = copy->second;
      nodes.push_back(std::move(old[i]));
    }
    set_nodes(g_, std::move(nodes));
    return report_;
  }

 private:
  struct Inserted {  // before a node, in this order
    std::vector<Node> store, stored, fetch, fetched;
  };

  void offload(const Trip& t) {
    const KeptValue& k = kept_[t.kept];
    const std::string module = name_of_module(k);
    const Origin origin{"offload " + module, k.layer, k.stack};
    const Value leaf = add_leaf(fmt::format("offloaded{} {}", spec_.suffix, k.value.id), g_.type(k.value));
    const Value stored = copy_of(k.value), fetched = copy_of(k.value);
    before_[size_t(k.made) + 1].store.push_back(
        {HostStore{kStoreLane}, {k.value, leaf}, {stored}, Phase::forward, origin});
    before_[size_t(t.stored)].stored.push_back({Wait{}, {stored}, {copy_of(k.value)}, Phase::forward, origin});
    before_[size_t(t.fetched)].fetch.push_back({HostFetch{kFetchLane}, {leaf}, {fetched}, Phase::backward, origin});
    std::vector<Node>& there = before_[size_t(k.read)].fetched;
    there.push_back({Wait{}, {fetched}, {copies_[k.value] = copy_of(k.value)}, Phase::backward, origin});
    for (int i : views_to_repeat(k)) {
      Node view = g_.nodes[size_t(i)];
      view.phase = Phase::backward;
      view.ins[0] = copies_.at(view.ins[0]);
      view.outs[0] = copies_[view.outs[0]] = copy_of(view.outs[0]);
      there.push_back(std::move(view));
    }
    report_.bytes[module] += clock_.bytes(t.kept);
    report_.on_bus += clock_.on_bus(t.kept), report_.made_again += clock_.made_again(t.kept);
  }

  // Those that the backward reads, and those that they are views of.
  std::vector<int> views_to_repeat(const KeptValue& k) const {
    std::vector<int> out;
    std::set<Value> needed;
    for (const Node& n : g_.nodes)
      if (n.phase != Phase::forward) needed.insert(n.ins.begin(), n.ins.end());
    for (auto i = k.views.rbegin(); i != k.views.rend(); ++i)
      if (const Node& view = g_.nodes[size_t(*i)]; needed.contains(view.outs[0]))
        out.push_back(*i), needed.insert(view.ins[0]);
    std::ranges::reverse(out);
    return out;
  }

  // The requested module.
  std::string name_of_module(const KeptValue& k) const {
    const std::vector<std::string>& asked = spec_.config.modules;
    const auto it = std::ranges::find_if(k.modules, [&](const auto& m) { return std::ranges::count(asked, m) > 0; });
    return it == k.modules.end() ? k.modules[0] : *it;
  }

  Value add_leaf(const std::string& name, const Type& type) {
    g_.values.push_back({.type = type, .name = name, .role = Role::kept, .host = true});
    return {int(g_.values.size()) - 1};
  }
  Value copy_of(Value v) {
    g_.values.push_back(g_.info(v));
    return {int(g_.values.size()) - 1};
  }

  Graph& g_;
  const OffloadSpec& spec_;
  std::vector<KeptValue> kept_;
  BusClock clock_;
  std::vector<Inserted> before_;   // by node
  std::map<Value, Value> copies_;  // the values that the backward reads
  OffloadReport report_;
};

}  // namespace

OffloadReport& OffloadReport::operator+=(const OffloadReport& o) {
  for (const auto& [module, n] : o.bytes) bytes[module] += n;
  on_bus += o.on_bus, forward += o.forward, wait += o.wait, made_again += o.made_again;
  return *this;
}

OffloadReport offload_activations(Graph& g, const OffloadSpec& spec) { return Offload(g, spec).run(); }

}  // namespace megalith
