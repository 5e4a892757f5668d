#include "passes/bus_clock.h"

#include <algorithm>
#include <map>

namespace megalith {

BusClock::BusClock(const Graph& g, const std::vector<KeptValue>& kept, const BusRates& rates, bool apart)
    : kept_(kept), rates_(rates), begins_{0} {
  for (const Node& n : g.nodes) begins_.push_back(begins_.back() + seconds(g, n));
  for (const KeptValue& k : kept) bytes_.push_back(local_type(g.mesh, g.type(k.value)).bytes());
  find_ends(g, apart);
  find_layers();
}

double BusClock::seconds(const Graph& g, const Node& n) const {
  if (n.phase == Phase::update || n.op.lane()) return 0;  // most runs have no update
  std::vector<Type> ins, outs;
  for (Value v : n.ins) ins.push_back(local_type(g.mesh, g.type(v)));
  for (Value v : n.outs) outs.push_back(local_type(g.mesh, g.type(v)));
  const Cost c = n.op.cost(ins, outs);
  const bool product = n.op.name() == "einsum" || n.op.name().starts_with("attention");
  return std::max(c.flops / (product ? rates_.products : rates_.others), c.bytes / rates_.memory) + rates_.launch;
}

void BusClock::find_ends(const Graph& g, bool apart) {
  for (int i = 0; i < int(g.nodes.size()); ++i)
    if (const Node& n = g.nodes[size_t(i)]; n.phase == Phase::forward && (apart || n.origin.layer >= 0))
      forward_end_ = i + 1;
  backward_begin_ = int(g.nodes.size());
  for (const KeptValue& k : kept_) backward_begin_ = std::min(backward_begin_, k.read);
  backward_begin_ = std::max(backward_begin_, forward_end_);
}

void BusClock::find_layers() {
  std::map<std::pair<std::string, i64>, size_t> number;
  for (const KeptValue& k : kept_) {
    const auto [it, is_new] = number.try_emplace({k.stack, k.layer}, number.size());
    if (is_new) first_made_.push_back(k.made), first_read_.push_back(k.read);
    layer_of_.push_back(it->second);
    first_read_[it->second] = std::min(first_read_[it->second], k.read);
  }
}

double BusClock::made_again(size_t kept) const {
  const size_t node = size_t(kept_[kept].made);
  return begins_[node + 1] - begins_[node];
}

Timetable BusClock::timetable(const std::vector<size_t>& chosen) const {
  Timetable out;
  for (size_t k : chosen) out.trips.push_back({k});
  std::ranges::stable_sort(out.trips, {}, [&](const Trip& t) { return kept_[t.kept].made; });
  double free = 0;
  for (Trip& t : out.trips) {
    const int made = kept_[t.kept].made;
    free = std::max(free, begins_[size_t(made) + 1]) + on_bus(t.kept);
    const auto at = std::lower_bound(begins_.begin() + made + 1, begins_.begin() + forward_end_, free);
    t.stored = int(at - begins_.begin());
  }
  out.wait += std::max(0.0, free - forward());

  std::ranges::stable_sort(out.trips, {}, [&](const Trip& t) { return kept_[t.kept].read; });
  const double first = begins_[size_t(backward_begin_)];
  double next = begins_.back();
  for (auto t = out.trips.rbegin(); t != out.trips.rend(); ++t) {
    const int read = kept_[t->kept].read;
    next = std::min(next, begins_[size_t(read)]) - on_bus(t->kept);
    const auto at = std::upper_bound(begins_.begin() + backward_begin_, begins_.begin() + read + 1, next);
    t->fetched = std::max(backward_begin_, int(at - begins_.begin()) - 1);
  }
  if (!out.trips.empty()) out.wait += std::max(0.0, first - next);
  if (!out.hidden()) keep_near(out);
  return out;
}

void BusClock::keep_near(Timetable& times) const {
  for (Trip& t : times.trips) {
    const size_t layer = layer_of_[t.kept];
    if (layer + 2 < first_made_.size()) t.stored = std::min(t.stored, first_made_[layer + 2] + 1);
    if (layer + 1 < first_read_.size())
      t.fetched = std::max(t.fetched, std::min(first_read_[layer + 1], kept_[t.kept].read));
  }
}

}  // namespace megalith
