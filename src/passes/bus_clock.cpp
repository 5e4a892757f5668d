#include "passes/bus_clock.h"

#include <algorithm>
#include <deque>
#include <map>

#include "ops/einsum.h"
#include "ops/quantized_grouped_product.h"

namespace megalith {

// Transfers are assumed to take this much longer. A clock that is too optimistic would make the device wait.
constexpr double kSpare = 1.25;

BusClock::BusClock(const Graph& g, const std::vector<KeptValue>& kept, const BusRates& rates, bool apart)
    : kept_(kept), rates_(rates), begins_{0} {
  for (const Node& n : g.nodes) begins_.push_back(begins_.back() + seconds(g, n));
  for (const KeptValue& k : kept) bytes_.push_back(local_type(g.mesh, g.type(k.value)).bytes());
  find_directions(g, apart);
}

double BusClock::seconds(const Graph& g, const Node& n) const {
  if (n.phase == Phase::update || n.op.lane()) return 0;  // most runs have no update
  std::vector<Type> ins, outs;
  for (Value v : n.ins) ins.push_back(local_type(g.mesh, g.type(v)));
  for (Value v : n.outs) outs.push_back(local_type(g.mesh, g.type(v)));
  const Cost c = n.op.cost(ins, outs);
  const double rate = n.op.get_if<Einsum>() || n.op.get_if<GroupedProduct>() || n.op.get_if<QuantizedGroupedProduct>()
                          ? rates_.products
                      : n.op.name().starts_with("attention") ? rates_.attention
                                                             : rates_.others;
  return std::max(c.flops / rate, c.bytes / rates_.memory) + rates_.launch;
}

void BusClock::find_directions(const Graph& g, bool apart) {
  const int nodes = int(g.nodes.size());
  for (int i = 0; i < nodes; ++i)
    if (const Node& n = g.nodes[size_t(i)]; n.phase == Phase::forward && (apart || n.origin.layer >= 0))
      forward_end_ = i + 1;
  int backward_begin = nodes;
  for (const KeptValue& k : kept_) backward_begin = std::min(backward_begin, k.read);
  there_.begins = begins_, there_.end = forward_end_;
  back_.end = nodes - std::max(backward_begin, forward_end_);
  for (auto at = begins_.rbegin(); at != begins_.rend(); ++at) back_.begins.push_back(begins_.back() - *at);
  for (size_t k = 0; k < kept_.size(); ++k) {
    there_.comes.push_back({kept_[k].made, k});
    back_.comes.push_back({nodes - 1 - kept_[k].read, k});
  }
  for (Direction* d : {&there_, &back_}) std::ranges::stable_sort(d->comes);
}

double BusClock::made_again(size_t kept) const {
  const size_t node = size_t(kept_[kept].made);
  return begins_[node + 1] - begins_[node];
}

Timetable BusClock::timetable(const std::vector<size_t>& chosen) const {
  std::vector<bool> goes(kept_.size());
  for (size_t k : chosen) goes[k] = true;
  std::vector<int> stored(kept_.size()), fetched(kept_.size());
  Timetable out;
  out.wait = run(there_, goes, 1, stored) + run(back_, goes, 1, fetched);
  run(there_, goes, kSpare, stored), run(back_, goes, kSpare, fetched);
  const int nodes = int(begins_.size()) - 1;
  for (size_t k : chosen) out.trips.push_back({k, stored[k], nodes - fetched[k]});
  std::ranges::stable_sort(out.trips, {}, [&](const Trip& t) { return kept_[t.kept].read; });
  return out;
}

// The values that stay, and the two layers that move the most bytes.
i64 BusClock::most_bytes(const std::vector<bool>& goes) const {
  std::map<std::pair<std::string, i64>, i64> layers;
  i64 most = 0, stays = 0;
  for (size_t k = 0; k < kept_.size(); ++k)
    if (goes[k])
      most = std::max(most, layers[{kept_[k].stack, kept_[k].layer}] += bytes_[k]);
    else
      stays += bytes_[k];
  return stays + 2 * most;
}

// `gone`: for each offloaded value, the node before which its device memory is free, if transfers take `longer` times
// as long. Returns how long the device waits.
double BusClock::run(const Direction& d, const std::vector<bool>& goes, double longer, std::vector<int>& gone) const {
  const i64 most = most_bytes(goes);
  struct Move {
    size_t kept;
    double end;
    int begin;  // the first node that may overlap with it
  };
  std::deque<Move> moving;
  double late = 0, free = 0;
  i64 here = 0;
  const auto let_go = [&](int node) {
    const Move& m = moving.front();
    gone[m.kept] = std::max(node, m.begin), here -= bytes_[m.kept];
    moving.pop_front();
  };
  const auto ended_by = [&](int node) {  // at nodes that have passed
    while (!moving.empty() && moving.front().end <= d.begins[size_t(node)] + late) {
      const auto from = d.begins.begin() + std::min(moving.front().begin, node);
      let_go(int(std::lower_bound(from, d.begins.begin() + node, moving.front().end - late) - d.begins.begin()));
    }
  };
  const auto wait_at = [&](int node) {
    late = std::max(late, moving.front().end - d.begins[size_t(node)]);
    let_go(node);
  };
  for (const auto& [node, k] : d.comes) {
    ended_by(node);
    while (!moving.empty() && here + bytes_[k] > most) wait_at(node);
    here += bytes_[k];
    if (!goes[k]) continue;
    free = std::max(free, d.begins[size_t(node) + 1] + late) + on_bus(k) * longer;
    moving.push_back({k, free, node + 1});
  }
  ended_by(d.end);
  while (!moving.empty()) wait_at(d.end);
  return late;
}

}  // namespace megalith
