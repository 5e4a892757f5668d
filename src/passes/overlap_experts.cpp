// Overlaps dispatch and combine of experts' tokens with their layer's shared expert, which does not depend on them
// (--moe-shared-expert-overlap):
//   forward    the gather of tokens starts; the shared expert up to its activation; the nodes that need the tokens
//              the sum of experts' rows starts; the rest of the shared expert, unless a product of it adds that sum
//   backward   the gathers start before the shared expert's backward, of cotangents and of tokens once more
//              the sum of the tokens' gradient starts; the weight gradients of the shared expert after it
//              rematerialized tokens (passes/rematerialize.cpp) are gathered from there on, beside the weight
//              gradients that wait for them
// Of consecutive transfers the largest one overlaps: the last of a gather, the first of a sum. The pass only moves
// nodes, so results are the same to the bit.
#include <algorithm>
#include <set>

#include "graph/relayout_op.h"
#include "ops/activate.h"
#include "ops/swiglu.h"
#include "passes/end_of_transfer.h"
#include "passes/pass.h"

namespace megalith {

namespace {

struct LayerPlace {
  std::string stack;
  i64 layer;
  auto operator<=>(const LayerPlace&) const = default;
};

class BesideShared {
 public:
  BesideShared(Graph& g, const LayerPlace& at) : g_(g), at_(at) {}

  bool run() {
    forward();
    backward();
    return changed_;
  }

 private:
  using Indices = std::vector<size_t>;

  bool is_of(const Node& n, const char* module, Phase phase) const {
    return n.phase == phase && n.origin.layer == at_.layer && n.origin.stack == at_.stack && n.origin.module == module;
  }
  Indices find(const char* module, Phase phase) const {
    Indices out;
    for (size_t i = 0; i < g_.nodes.size(); ++i)
      if (is_of(g_.nodes[i], module, phase)) out.push_back(i);
    return out;
  }
  // Transfers of the experts that gather, or that sum.
  Indices transfers(Phase phase, bool gathers) const {
    Indices out;
    for (const size_t i : find("moe", phase)) {
      const auto* r = g_.nodes[i].op.get_if<Relayout>();
      if (!r || is_local(r->transfer) || r->lane || r->into || r->in_place) continue;
      const bool sums = r->transfer == Transfer::reduce_scatter || r->transfer == Transfer::all_reduce;
      if (gathers ? r->transfer == Transfer::all_gather : sums) out.push_back(i);
    }
    return out;
  }
  // Whether all inputs of the node are computed before index i, or by `others`.
  bool is_ready(const Node& n, size_t i, const std::set<Value>& others) const {
    return std::ranges::all_of(n.ins, [&](Value v) {
      const int maker = g_.info(v).node;
      return maker < int(i) || others.count(v) > 0;
    });
  }

  void forward() {
    const Indices gathers = transfers(Phase::forward, true);
    if (gathers.empty()) return;
    Indices first;
    for (const size_t i : find("shared_experts", Phase::forward)) {
      first.push_back(i);
      if (g_.nodes[i].op.get_if<Swiglu>() || g_.nodes[i].op.get_if<Activate>()) break;
    }
    const Value tokens = g_.nodes[gathers.back()].outs[0];
    move_behind(gathers.back(), first);
    const Indices sums = transfers(Phase::forward, false);
    const auto sum = std::ranges::upper_bound(sums, size_t(g_.info(tokens).node));  // those before are the router's
    if (sum != sums.end()) move_behind(*sum, find("shared_experts", Phase::forward));
  }

  void backward() {
    const Indices shared = find("shared_experts", Phase::backward);
    if (shared.empty()) return;
    gather_before(shared.front());
    const Indices sums = transfers(Phase::backward, false);
    const auto size = [&](size_t i) { return g_.type(g_.nodes[i].ins[0]).elements(); };
    const auto largest = std::ranges::max_element(sums, {}, size);
    if (largest == sums.end()) return;
    const Value sum = g_.nodes[*largest].outs[0];
    put_off_until(*largest);
    for (const size_t k : transfers(Phase::backward, true))
      if (int(k) > g_.info(sum).node) return gather_before(size_t(g_.info(g_.nodes[k].ins[0]).node) + 1);
  }

  // Starts the transfer at i. Those of the later `nodes` that can move directly after it do so.
  void move_behind(size_t i, const Indices& nodes) {
    Indices moved;
    std::set<Value> made;
    for (const size_t k : nodes) {
      const Node& n = g_.nodes[k];
      if (k <= i || !is_ready(n, i, made)) continue;
      moved.push_back(k), made.insert(n.outs.begin(), n.outs.end());
    }
    if (moved.empty()) return;
    begin(g_.nodes[i]);
    rearrange(i + 1, moved);
  }

  // Moves the backward's gathers that can go before index i there, and starts them.
  void gather_before(size_t i) {
    Indices moved;
    std::set<Value> made, read;
    for (const size_t k : transfers(Phase::backward, true)) {
      const Node& n = g_.nodes[k];
      if (k < i || !is_ready(n, i, made)) continue;
      moved.push_back(k), made.insert(n.outs[0]), read.insert(n.ins[0]);
    }
    for (const size_t k : moved)
      if (!read.count(g_.nodes[k].outs[0])) begin(g_.nodes[k]);
    rearrange(i, moved);
  }

  // Starts the transfer at i. The shared expert's weight gradients before it move after it, with their readers.
  void put_off_until(size_t i) {
    Indices moved;
    std::set<Value> late;
    for (size_t k = 0; k < i; ++k) {
      const Node& n = g_.nodes[k];
      if (n.phase == Phase::forward) continue;
      const bool reads = std::ranges::any_of(n.ins, [&](Value v) { return late.count(v) > 0; });
      if (!reads && !(n.phase == Phase::backward && adds_to_gradient(g_, n) && reads_shared(n))) continue;
      moved.push_back(k), late.insert(n.outs.begin(), n.outs.end());
    }
    const Node& transfer = g_.nodes[i];
    if (moved.empty() || std::ranges::any_of(transfer.ins, [&](Value v) { return late.count(v) > 0; })) return;
    begin(g_.nodes[i]);
    rearrange(i + 1, moved);
  }

  bool reads_shared(const Node& n) const {
    return std::ranges::any_of(n.ins, [&](Value v) {
      const int maker = g_.info(v).node;
      return maker >= 0 && is_of(g_.nodes[size_t(maker)], "shared_experts", Phase::backward);
    });
  }

  void begin(Node& n) {
    Relayout op = *n.op.get_if<Relayout>();
    op.lane = kExpertLane;
    n.op = op;
    begun_.push_back(n.outs[0]);
  }

  // Moves the nodes `moved`, in their order, before the node at index `to`. Transfers end before their results are
  // read.
  void rearrange(size_t to, const Indices& moved) {
    move_nodes(g_, to, moved);
    for (const Value v : begun_) end_before_reader(g_, v);
    begun_.clear();
    changed_ |= !moved.empty();
  }

  Graph& g_;
  const LayerPlace at_;
  std::vector<Value> begun_;
  bool changed_ = false;
};

}  // namespace

bool overlap_experts(Graph& g) {
  std::set<LayerPlace> layers;
  for (const Node& n : g.nodes)
    if (n.origin.module == "shared_experts") layers.insert({n.origin.stack, n.origin.layer});
  bool changed = false;
  for (const LayerPlace& at : layers) changed |= BesideShared(g, at).run();
  return changed;
}

}  // namespace megalith
