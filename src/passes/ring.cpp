// Attention over context-parallel ranks as a ring (Liu 2023). Keys and values are not gathered. A block at a time
// moves from rank to rank, during the attention of the current block.
//   forward:   the rank's own block, then the block of the previous rank, and so on; each part continues from the o and
//              lse of the parts before
//   backward:  from the previous rank's block on, the rank's own block last; dq is summed here, dk and dv move with
//              their block, and are back on its rank when that one is done. The first block is sent one node ahead,
//              during the computation of attention's cotangent
// Types (rotated splits) say which keys a rank has at each step, and masks use positions. So in zigzag order every
// rank has the same work at every step.
#include <algorithm>
#include <optional>

#include "graph/relayout_op.h"
#include "ops/attention_part.h"
#include "ops/scale.h"
#include "passes/pass.h"

namespace megalith {

namespace {

constexpr int kRingLane = 4;

using Block = std::vector<Value>;  // keys and values, or their gradients

// Other attentions read their keys gathered.
bool goes_round(const AttentionSpec& at) { return at.causal && !at.lengths && !at.buckets && !at.packed(); }

class Ring {
 public:
  explicit Ring(Graph& g) : g_(g), b_(g), axes_(g.mesh.used(groups::context)), ranks_(g.mesh.n(axes_)) {}

  bool run() {
    send_ahead();
    std::vector<Node> nodes = std::move(g_.nodes);
    g_.nodes.clear();
    for (size_t i = 0; i < nodes.size(); ++i) {
      Node& n = nodes[i];
      b_.set_phase(n.phase), b_.set_origin(n.origin);
      for (const Ahead& a : ahead_[i]) begun_[a.of] = hand_on(a.block, 1);
      if (!forward(n) && !backward(n) && !reduction(n)) keep(std::move(n));
    }
    replace_uses(g_, by_);
    return !by_.empty();
  }

 private:
  struct Ahead {  // of an attention gradient, by its first result: the block that it sends first
    Value of;
    Block block;
  };

  // The nodes that the first block of a backward is sent before.
  void send_ahead() {
    for (size_t i = 0; i < g_.nodes.size(); ++i) {
      const Node& n = g_.nodes[i];
      const auto here = backward_block(n);
      if (!here) continue;
      const auto made_by = [&](Value v) { return g_.info(v).node; };
      int at = made_by(n.ins[0]);
      if (at < 0 || g_.nodes[size_t(at)].phase != n.phase || made_by((*here)[0]) >= at || made_by((*here)[1]) >= at)
        at = int(i);
      ahead_[size_t(at)].push_back({n.outs[0], *here});
    }
  }

  void keep(Node n) {
    for (Value v : n.outs) g_.values[size_t(v.id)].node = int(g_.nodes.size());
    g_.nodes.push_back(std::move(n));
  }

  // The value that was gathered along the sequence to v.
  std::optional<Value> gathered(Value v) const {
    const int node = g_.info(v).node;
    const auto* r = node < 0 ? nullptr : g_.nodes[size_t(node)].op.get_if<Relayout>();
    if (!r || r->transfer != Transfer::all_gather || r->axes != axes_ || r->from != split(0)) return {};
    return g_.nodes[size_t(node)].ins[0];
  }
  std::optional<Block> block(Value k, Value v) const {
    const auto keys = gathered(k), values = gathered(v);
    if (!keys || !values) return {};
    return Block{*keys, *values};
  }

  // Begins to hand a block on to the next rank.
  Block hand_on(const Block& block, int rotated) {
    Block out;
    for (Value v : block) {
      const Order order = g_.type(v).layout.dims[0].back().order;
      out.push_back(b_.begin_relayout(v, axes_, split(0), kRingLane, order, rotated % ranks_));
    }
    return out;
  }
  Block arrived(const Block& moving) {
    Block out;
    for (Value v : moving) out.push_back(b_.wait(v));
    return out;
  }
  Value sum(Value a, Value b) { return b_.add1(AddGrad{g_.type(a).ndim()}, {a, b}); }
  Value as(DType dtype, Value v) {
    return g_.type(v).dtype == dtype ? v : b_.add1(Cast{g_.type(v).ndim(), dtype}, {v});
  }

  bool forward(const Node& n) {
    const auto* op = n.op.get_if<Attention>();
    if (!op || !goes_round(op->at)) return false;
    auto here = block(n.ins[1], n.ins[2]);
    if (!here) return false;
    std::vector<Value> before;
    for (int step = 0; step < ranks_; ++step) {
      const bool last = step + 1 == ranks_;
      const Block next = last ? Block{} : hand_on(*here, step + 1);
      std::vector<Value> ins = {n.ins[0], (*here)[0], (*here)[1]};
      ins.insert(ins.end(), n.ins.begin() + 3, n.ins.end());
      ins.insert(ins.end(), before.begin(), before.end());
      before = b_.add(AttentionPart{op->at, ranks_, step > 0, last}, ins);
      here = arrived(next);
    }
    for (size_t i = 0; i < n.outs.size(); ++i) by_[n.outs[i]] = before[i];
    return true;
  }

  std::optional<Block> backward_block(const Node& n) const {
    const auto* op = n.op.get_if<AttentionGrad>();
    if (!op || !goes_round(op->at)) return {};
    return block(n.ins[2], n.ins[3]);
  }

  bool backward(const Node& n) {
    const auto own = backward_block(n);
    if (!own) return false;
    const AttentionSpec& at = n.op.get_if<AttentionGrad>()->at;
    Block next = begun_.at(n.outs[0]), travelling;  // dk and dv
    Value dq;
    for (int step = 1; step <= ranks_; ++step) {
      const Block here = step == ranks_ ? *own : arrived(next);
      next = step + 1 < ranks_ ? hand_on(here, step + 1) : Block{};
      std::vector<Value> ins = n.ins;
      ins[2] = here[0], ins[3] = here[1];
      const std::vector<Value> part = b_.add(AttentionPartGrad{at, ranks_}, ins);
      dq = step == 1 ? part[0] : sum(dq, part[0]);
      Block mine = {part[1], part[2]};
      const Block others = arrived(travelling);
      for (size_t i = 0; i < others.size(); ++i) mine[i] = sum(others[i], mine[i]);
      travelling = step == ranks_ ? mine : hand_on(mine, step + 1);
    }
    by_[n.outs[0]] = as(g_.type(n.outs[0]).dtype, dq);
    for (size_t i = 0; i < travelling.size(); ++i)
      home_[n.outs[1 + i]] = as(g_.type(n.outs[1 + i]).dtype, travelling[i]);
    return true;
  }

  // Of dk and dv, which are whole sums already.
  bool reduction(const Node& n) {
    if (!n.op.get_if<Relayout>() || !home_.count(n.ins[0])) return false;
    const Value home = home_.at(n.ins[0]);
    check(g_.type(home) == g_.type(n.outs[0]), "the ring brings {}, not {}", to_string(g_.type(home)),
          to_string(g_.type(n.outs[0])));
    by_[n.outs[0]] = home;
    return true;
  }

  Graph& g_;
  Builder b_;
  AxisSet axes_;
  int ranks_;
  std::map<size_t, std::vector<Ahead>> ahead_;  // by the node before which it is sent
  std::map<Value, Block> begun_;                // sent before this part
  std::map<Value, Value> by_;                   // the replacement of each value
  std::map<Value, Value> home_;                 // by the sums over cp that they replace
};

}  // namespace

bool ring(Graph& g) { return g.mesh.n(groups::context) > 1 && Ring(g).run(); }

}  // namespace megalith
