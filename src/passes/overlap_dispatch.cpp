// Overlaps dispatch and combine of experts' tokens with work that does not depend on them. A transfer starts on a
// lane where its input is computed, and ends where its result is read first. It overlaps with:
//   forward    gather of the tokens: the router
//   backward   gather of cotangents: weight gradients of the part before, and of the first product of the experts
//              before
//              second gather of the tokens: the same, and the gradients of the experts' products
//              sums of the weights' and of the tokens' gradient: the sum of a rank's own rows, and the weight gradient
//              of the experts' second product
// So a rank that comes early computes a weight gradient while it waits for the others. The small sum starts before the
// large one. The router's gradient needs the small sum, so it comes after that weight gradient. For the second gather
// of tokens the norm's result is kept, although the norm's gradient could rematerialize it (passes/rematerialize.cpp).
// The forward's sum overlaps with nothing, because its result is read immediately. Results are the same to the bit.
#include <algorithm>
#include <set>

#include "graph/relayout_op.h"
#include "ops/expert_parts.h"
#include "ops/expert_rows.h"
#include "ops/gather_rows.h"
#include "ops/layer_norm.h"
#include "ops/rms_norm.h"
#include "ops/update.h"
#include "passes/end_of_transfer.h"
#include "passes/pass.h"

namespace megalith {

namespace {

class BesideTokens {
 public:
  explicit BesideTokens(Graph& g) : g_(g) {
    for (const auto& [name, v] : g.outputs) outputs_.insert(v);
    find_tokens();
  }

  bool run() {
    for (const Value v : transfers_) put_weights_behind(v);
    for (const Value v : transfers_) begin_early(v);
    for (const Value v : rows_again_) put_off(v);
    return changed_;
  }

 private:
  using Indices = std::vector<size_t>;

  size_t place(Value v) const { return size_t(g_.info(v).node); }
  Node& node(Value v) { return g_.nodes[place(v)]; }

  static bool finds_rows(const Node& n) { return n.op.get_if<ExpertRows>() || n.op.get_if<ExpertParts>(); }
  static bool needs_tokens(const Node& n) {
    return n.op.get_if<GatherRows>() || n.op.get_if<GatherWeights>() || finds_rows(n);
  }
  static bool gives_tokens(const Node& n) { return n.op.get_if<CombineRows>() || n.op.get_if<GatherWeightsGrad>(); }
  static const Relayout* between_ranks(const Node& n) {
    const auto* r = n.op.get_if<Relayout>();
    return r && !is_local(r->transfer) && !r->lane && !r->into && !r->in_place ? r : nullptr;
  }

  // The transfers that do not overlap anything yet, by their results. One value may have several, one after another.
  void find_tokens() {
    std::vector<bool> there(g_.values.size()), back(g_.values.size());
    for (size_t i = g_.nodes.size(); i-- > 0;) {
      const Node& n = g_.nodes[i];
      if (needs_tokens(n) || (n.op.get_if<Relayout>() && there[size_t(n.outs[0].id)]))
        there[size_t(n.ins[0].id)] = true;
    }
    for (const Node& n : g_.nodes) {
      if (gives_tokens(n) || (n.op.get_if<Relayout>() && back[size_t(n.ins[0].id)])) back[size_t(n.outs[0].id)] = true;
      const Relayout* r = between_ranks(n);
      if (!r) continue;
      const bool sums = r->transfer == Transfer::reduce_scatter || r->transfer == Transfer::all_reduce;
      const bool gathers = r->transfer == Transfer::all_gather;
      if ((gathers && there[size_t(n.outs[0].id)]) || (sums && back[size_t(n.ins[0].id)]))
        transfers_.push_back(n.outs[0]), of_tokens_.insert(n.outs[0]);
    }
  }
  bool gathers_tokens(const Node& n) const {
    return moves_tokens(n) && n.op.get_if<Relayout>()->transfer == Transfer::all_gather;
  }
  bool moves_tokens(const Node& n) const { return !n.outs.empty() && of_tokens_.count(n.outs[0]) > 0; }

  static bool reads(const Node& n, const std::set<Value>& values) {
    return std::ranges::any_of(n.ins, [&](Value v) { return values.count(v) > 0; });
  }
  // Adds to a gradient that nothing of the backward adds to or reads afterwards.
  bool ends_gradient(const Node& n) const {
    if (n.phase != Phase::backward || !adds_to_gradient(g_, n)) return false;
    const std::set<Value> made(n.outs.begin(), n.outs.end());
    return std::none_of(g_.nodes.begin() + g_.info(n.outs[0]).node, g_.nodes.end(),
                        [&](const Node& other) { return other.phase == Phase::backward && reads(other, made); });
  }

  // Of the nodes [from, to): weight gradients, and what of the update needs them. Those of no other node can go later.
  Indices weights_between(size_t from, size_t to) const {
    Indices out;
    std::set<Value> late;
    for (size_t i = from; i < to; ++i) {
      const Node& n = g_.nodes[i];
      if (!(n.phase == Phase::update && reads(n, late)) && !ends_gradient(n)) continue;
      out.push_back(i), late.insert(n.outs.begin(), n.outs.end());
    }
    return out;
  }

  // The sum of the tokens' gradient comes first, then the experts' weight gradients, then the router's gradient. On a
  // GPU these weight gradients leave multiprocessors for transfers (exec/cuda_needs/grouped_fits.h).
  void put_weights_behind(Value sum) {
    const size_t i = place(sum);
    const Node& n = g_.nodes[i];
    const int maker = g_.info(n.ins[0]).node;
    if (n.phase != Phase::backward || maker < 0 || !g_.nodes[size_t(maker)].op.get_if<CombineRows>()) return;
    size_t from = i;
    while (from > 0 && !moves_tokens(g_.nodes[from - 1])) --from;
    const Indices weights = weights_between(from, i), again = gathered_again(i);
    if (weights.empty() && again.empty()) return;
    size_t to = i + 1;
    while (to < g_.nodes.size() && moves_tokens(g_.nodes[to])) ++to;
    Indices moved = weights;
    const Indices readers = readers_of_sums(i + 1, to);
    moved.insert(moved.end(), readers.begin(), readers.end());
    moved.insert(moved.end(), again.begin(), again.end());
    for (const size_t k : again)
      if (g_.nodes[k].op.get_if<GatherRows>()) rows_again_.push_back(g_.nodes[k].outs[0]);
    rearrange(to, moved);
  }
  // The nodes that can move to `to` and read the transfers [from, to): the router's gradient.
  Indices readers_of_sums(size_t from, size_t to) const {
    Indices out;
    for (size_t i = from; i < to; ++i) {
      const size_t k = first_reader(g_.nodes[i].outs[0]);
      if (k < to || k == g_.nodes.size() || between_ranks(g_.nodes[k])) continue;
      if (std::ranges::all_of(g_.nodes[k].ins, [&](Value v) { return g_.info(v).node < int(to); })) out.push_back(k);
    }
    return out;
  }

  // After the sum at i: the gather of a norm's output that the norm's gradient rematerializes, and its dependents that
  // can wait (rows, weight gradient). The gather then reads the forward's output instead.
  Indices gathered_again(size_t i) {
    Indices out;
    std::set<Value> late;
    Value kept;
    for (size_t k = i + 1; k < g_.nodes.size(); ++k) {
      const Node& n = g_.nodes[k];
      if (!kept && gathers_tokens(n)) {
        kept = made_by_forward(n.ins[0]);
        if (!kept) return {};
        out.push_back(k), late.insert(n.outs[0]);
      } else if (n.phase == Phase::backward && reads(n, late)) {
        if (!n.op.repeats() && !between_ranks(n) && !ends_gradient(n)) return {};
        out.push_back(k), late.insert(n.outs.begin(), n.outs.end());
      }
    }
    if (kept) g_.nodes[out[0]].ins[0] = kept;
    return out;
  }
  // What `again`, made by a norm's gradient, is once more.
  Value made_by_forward(Value again) const {
    if (g_.info(again).node < 0) return {};
    const Node& gradient = g_.nodes[place(again)];
    const int result = rematerialized_output(gradient.op);
    if (result < 0 || gradient.outs[size_t(result)] != again) return {};
    for (const Node& n : g_.nodes)
      if (n.phase == Phase::forward && (n.op.get_if<RmsNorm>() || n.op.get_if<LayerNorm>()) &&
          n.ins[0] == gradient.ins[1] && n.ins[1] == gradient.ins[2] && g_.type(n.outs[0]) == g_.type(again))
        return n.outs[0];
    return {};
  }

  // The first node before which the transfer can start: after the producer of its input. A value kept from the
  // forward is sent after the previous gather.
  size_t earliest(size_t i) const {
    const Node& n = g_.nodes[i];
    const int maker = g_.info(n.ins[0]).node;
    if (maker >= 0 && g_.nodes[size_t(maker)].phase == n.phase) return size_t(maker) + 1;
    size_t at = i;
    while (at > 0 && g_.nodes[at - 1].phase != Phase::forward && !gathers_tokens(g_.nodes[at - 1])) --at;
    return n.phase == Phase::forward ? i : std::max(at, size_t(maker + 1));
  }
  // Whether a run of the phase has anything to do but transfers at the nodes [from, to).
  bool has_work(size_t from, size_t to, Phase phase) const {
    return std::any_of(g_.nodes.begin() + i64(from), g_.nodes.begin() + i64(to), [&](const Node& n) {
      return n.phase == phase && !n.op.get_if<Relayout>() && !n.op.get_if<Wait>();
    });
  }
  size_t first_reader(Value v) const {
    const auto reader = std::ranges::find_if(g_.nodes, [&](const Node& n) { return std::ranges::count(n.ins, v) > 0; });
    return size_t(reader - g_.nodes.begin());
  }

  // Of transfers one after the other the last gather is begun on the lane, and the first sum.
  void begin_early(Value v) {
    const Phase phase = node(v).phase;
    if (outputs_.count(v) || first_reader(v) == g_.nodes.size()) return;
    if (const size_t at = earliest(place(v)); has_work(at, place(v), phase)) rearrange(at, {place(v)});
    const size_t reader = first_reader(v);
    if (gathers_tokens(node(v)) && moves_tokens(g_.nodes[reader])) return;
    if (finds_rows(g_.nodes[reader])) return;  // on the lane the choice would come after the tokens
    if (g_.nodes[reader].phase != phase || !has_work(place(v) + 1, reader, phase)) return;
    put_small_first(place(v), reader);
    Relayout op = *node(v).op.get_if<Relayout>();
    op.lane = kExpertLane;
    node(v).op = op;
    end_before_reader(g_, v);
    changed_ = true;
  }
  void put_small_first(size_t i, size_t reader) {
    for (size_t k = i + 1; k < reader; ++k) {
      const Node& n = g_.nodes[k];
      if (!n.op.get_if<Accumulate>() || n.phase != g_.nodes[i].phase) continue;
      const bool ready = std::ranges::all_of(n.ins, [&](Value v) { return g_.info(v).node < int(i); });
      if (ready) return rearrange(i + 1, {k});
    }
  }

  // Rematerialized rows, and the weight gradient that reads them, move to the next gather of cotangents.
  void put_off(Value rows) {
    const size_t from = place(rows);
    size_t to = from;
    while (to < g_.nodes.size() && !ends_gather_of_cotangents(g_.nodes[to])) {
      if (gathers_tokens(g_.nodes[to]) && !g_.nodes[to].op.lane()) return;
      ++to;
    }
    if (to == g_.nodes.size()) return;
    Indices moved = {from};
    std::set<Value> late = {rows};
    for (size_t k = from + 1; k < to; ++k) {
      const Node& n = g_.nodes[k];
      if (!reads(n, late)) continue;
      if (n.phase != Phase::update && !ends_gradient(n)) return;
      moved.push_back(k), late.insert(n.outs.begin(), n.outs.end());
    }
    rearrange(to, moved);
  }
  bool ends_gather_of_cotangents(const Node& n) const {
    if (!n.op.get_if<Wait>() || n.phase != Phase::backward || !of_tokens_.count(n.ins[0])) return false;
    const Node& gather = g_.nodes[place(n.ins[0])];
    const int maker = g_.info(gather.ins[0]).node;
    return gathers_tokens(gather) && maker >= 0 && g_.nodes[size_t(maker)].phase == Phase::backward;
  }

  // Moves the nodes `moved`, in their order, before the node at index `to`.
  void rearrange(size_t to, const Indices& moved) {
    move_nodes(g_, to, moved);
    changed_ = true;
  }

  Graph& g_;
  std::set<Value> outputs_, of_tokens_;
  std::vector<Value> transfers_, rows_again_;
  bool changed_ = false;
};

}  // namespace

bool overlap_dispatch(Graph& g) { return BesideTokens(g).run(); }

}  // namespace megalith
