// Overlaps tensor-parallel transfers of the backward with products that do not need them (--tp-comm-overlap).
//   - The reduction of an input's gradient starts on a lane. The weight gradients before it move after it, so they are
//     computed during the transfer.
//   - The forward's value that is gathered again for a weight gradient starts at the previous transfer, one product
//     earlier. If the backward rematerializes it (passes/rematerialize.cpp), the gather starts there, and the weight
//     gradient moves after the next reduction. So do its casts to codes that only weight gradients read.
// Each transfer ends before its first reader.
#include <algorithm>
#include <optional>
#include <ranges>
#include <set>

#include "graph/relayout_op.h"
#include "ops/cast_counts.h"
#include "ops/delayed_scale.h"
#include "ops/shard_codes.h"
#include "passes/pass.h"

namespace megalith {

namespace {

constexpr int kGradLane = 3;

bool over_tensor_axes(const Relayout& r) { return groups::tensor.has(r.axes); }

class Overlap {
 public:
  explicit Overlap(Graph& g) : g_(g) {}

  bool run() {
    std::vector<Node> nodes = std::move(g_.nodes);
    find_makers(nodes);
    for (size_t i = 0; i < nodes.size(); ++i) {
      Node& n = nodes[i];
      if (is_put_off(n)) {
        for (Value v : n.outs) put_off_values_.insert(v);
        put_off_.push_back(std::move(n));
      } else if (is_transfer(n)) {
        begin(std::move(n));
      } else {
        out_.push_back(std::move(n));
      }
    }
    emit_put_off();
    if (moved_.empty()) return set_nodes(g_, std::move(out_)), false;
    set_nodes(g_, with_waits());
    return true;
  }

 private:
  void find_makers(const std::vector<Node>& nodes) {
    forward_.resize(g_.values.size(), true);  // leaves too
    for_weights_.resize(g_.values.size(), true);
    for (const auto& [name, v] : g_.outputs) for_weights_[size_t(v.id)] = false;
    for (const Node& n : nodes)
      for (Value v : n.outs) forward_[size_t(v.id)] = n.phase == Phase::forward;
    for (const Node& n : nodes | std::views::reverse)  // readers of a value come after its producer
      if (!adds_to_gradient(n) && !makes_codes_for_weights(n))
        for (Value v : n.ins) for_weights_[size_t(v.id)] = false;
  }

  // A cast, what it reads for its scale, or what remembers that: only weight gradients read its codes.
  bool makes_codes_for_weights(const Node& n) const {
    if (n.phase != Phase::backward) return false;
    if (n.op.get_if<CollectAmax>() || n.op.get_if<CollectCounts>()) return true;
    return (n.op.get_if<Quantize>() || n.op.get_if<Amax>() || n.op.get_if<SharedAmax>() ||
            n.op.get_if<RotateTokens>() || n.op.get_if<TurnCodes>()) &&
           std::ranges::all_of(n.outs, [&](Value v) { return for_weights_[size_t(v.id)]; });
  }

  bool adds_to_gradient(const Node& n) const {
    for (const Alias& a : n.op.aliases())
      if (a.must && g_.info(n.ins[size_t(a.in)]).role == Role::gradient) return true;
    return false;
  }

  bool is_transfer(const Node& n) const {
    const auto* r = n.op.get_if<Relayout>();
    return r && n.phase == Phase::backward && r->lane == 0 && !is_local(r->transfer) && !r->into && !r->in_place &&
           over_tensor_axes(*r);
  }

  // Weight gradients, casts of transferred values for them, and nodes of the update that need only them.
  bool is_put_off(const Node& n) const {
    const auto any_in = [&](const std::set<Value>& values) {
      return std::ranges::any_of(n.ins, [&](Value v) { return values.contains(v); });
    };
    const bool needs = any_in(put_off_values_);
    if (n.phase == Phase::update) return needs;
    // needs: the same accumulator again
    return n.phase == Phase::backward &&
           (needs || adds_to_gradient(n) || (any_in(moved_) && makes_codes_for_weights(n)));
  }

  void begin(Node n) {
    Relayout op = *n.op.get_if<Relayout>();
    const bool gathers = op.transfer == Transfer::all_gather;
    const bool again = gathers && forward_[size_t(n.ins[0].id)], later = gathers && for_weights_[size_t(n.outs[0].id)];
    const bool sums = op.transfer == Transfer::reduce_scatter || op.transfer == Transfer::all_reduce;
    if (!again && !later && !sums) {  // needed at once
      last_transfer_ = out_.size();
      out_.push_back(std::move(n));
      return;
    }
    op.lane = kGradLane;
    n.op = op;
    moved_.insert(n.outs[0]);
    if (again) {
      const size_t place = last_transfer_.value_or(out_.size());
      out_.insert(out_.begin() + i64(place), std::move(n));
      last_transfer_ = place + 1;
    } else if (later) {
      out_.push_back(std::move(n));
    } else {
      last_transfer_ = out_.size();
      out_.push_back(std::move(n));
      emit_put_off();
    }
  }

  void emit_put_off() {
    for (Node& n : put_off_) out_.push_back(std::move(n));
    put_off_.clear(), put_off_values_.clear();
  }

  std::vector<Node> with_waits() {
    std::map<Value, Value> done, source;
    std::vector<Node> nodes;
    for (Node& n : out_) {
      for (Value& v : n.ins) {
        if (!moved_.count(v)) continue;
        const auto [it, is_first] = done.try_emplace(v);
        if (is_first) {
          it->second = Value{int(g_.values.size())};
          ValueInfo info = g_.info(v);
          g_.values.push_back(std::move(info));
          nodes.push_back({Wait{}, {v, source.at(v)}, {it->second}, n.phase, n.origin});
        }
        v = it->second;
      }
      if (const auto* r = n.op.get_if<Relayout>(); r && moved_.count(n.outs[0])) source[n.outs[0]] = n.ins[0];
      nodes.push_back(std::move(n));
    }
    return nodes;
  }

  Graph& g_;
  std::vector<bool> forward_;      // by value: it exists when the backward begins
  std::vector<bool> for_weights_;  // by value: only weight gradients read it
  std::vector<Node> out_, put_off_;
  std::set<Value> put_off_values_, moved_;
  std::optional<size_t> last_transfer_;  // index of the previous transfer
};

}  // namespace

bool overlap_tensor(Graph& g) { return Overlap(g).run(); }

}  // namespace megalith
