// Products of codes on GPUs sum over the last dims of both operands. An operand whose summed dims are first is
// replaced by its transpose from Quantize (CodeOrders):
//   dw = dy^T x over tokens, "sbf,sbh->fh"   ->   "fsb,hsb->fh"
// If both operands have a scale for each block of a sequence's tokens, those tokens become consecutive:
// "fbs,hbs->fh". Each Quantize then writes only the orders that have readers.
#include <algorithm>

#include "graph/relayout_op.h"
#include "ops/einsum.h"
#include "ops/quantize.h"
#include "ops/shard_codes.h"
#include "passes/pass.h"

namespace megalith {

namespace {

// By how many dims `letters` must rotate to put those shared with `with`, and absent from y, last. 0: none needed; -1:
// no rotation does it.
int turn_of(const std::string& letters, const std::string& with, const std::string& y) {
  const auto is_summed = [&](char c) { return with.find(c) != std::string::npos && y.find(c) == std::string::npos; };
  const auto first = std::ranges::find_if_not(letters, is_summed);
  if (std::find_if(first, letters.end(), is_summed) == letters.end())
    return first == letters.end() ? 0 : int(first - letters.begin());
  const auto kept = std::ranges::find_if(letters, is_summed);
  return std::find_if_not(kept, letters.end(), is_summed) == letters.end() ? 0 : -1;
}

// The node's transposed codes. {}: it writes another transpose.
Value transpose_of(Graph& g, Node& n, Turn turn) {
  auto op = *n.op.get_if<Quantize>();
  if (op.orders != CodeOrders::as_is)
    return op.split == turn.split && op.by_sequence == turn.by_sequence ? n.outs.back() : Value{};
  op.orders = CodeOrders::both, op.split = turn.split, op.by_sequence = turn.by_sequence;
  const int at = g.info(n.outs[0]).node;
  g.values.push_back({.type = turned(g.type(n.outs[0]), turn), .node = at});
  n.outs.push_back({int(g.values.size()) - 1});
  n.op = op;
  return n.outs.back();
}

const Quantize* cast_of(const Graph& g, Value codes) {
  const int made_by = g.info(codes).node;
  return made_by < 0 ? nullptr : g.nodes[size_t(made_by)].op.get_if<Quantize>();
}

// Whether no cast of this graph computes the codes: they are leaves, or gathered from ranks.
bool are_gathered(const Graph& g, Value codes) {
  const int made_by = g.info(codes).node;
  return made_by < 0 || g.nodes[size_t(made_by)].op.get_if<Relayout>() || g.nodes[size_t(made_by)].op.get_if<Wait>();
}

// Transposes of codes that ranks gather: of weights, which are leaves, and of tokens. One for each phase.
class TurnedCodes {
 public:
  explicit TurnedCodes(Graph& g) : g_(g) {}

  // Made before node `at`, its first reader.
  Value of(Value codes, int split, int at) {
    const Phase phase = g_.nodes[size_t(at)].phase;
    Value& made = made_[{codes, split, phase}];
    if (made) return made;
    g_.values.push_back({.type = turned(g_.type(codes), {split, false}), .node = at});
    made = {int(g_.values.size()) - 1};
    before_[at].push_back({TurnCodes{split}, {codes}, {made}, phase, g_.nodes[size_t(at)].origin});
    return made;
  }
  bool place() {
    if (before_.empty()) return false;
    std::vector<Node> nodes;
    for (int i = 0; i < int(g_.nodes.size()); ++i) {
      if (const auto it = before_.find(i); it != before_.end())
        std::ranges::move(it->second, std::back_inserter(nodes));
      nodes.push_back(std::move(g_.nodes[size_t(i)]));
    }
    set_nodes(g_, std::move(nodes));
    return true;
  }

 private:
  Graph& g_;
  std::map<std::tuple<Value, int, Phase>, Value> made_;
  std::map<int, std::vector<Node>> before_;
};

int turn_of_operand(const QuantizedProduct& op, size_t operand) {
  const auto [ins, outs] = split_spec(op.spec);
  return turn_of(ins[operand], ins[1 - operand], outs[0]);
}

// Whether both operands are x [s, b, ..] itself, cast with a scale for each block along s.
bool sums_by_sequence(const Graph& g, const Node& n) {
  const QuantizedProduct& op = *n.op.get_if<QuantizedProduct>();
  for (const size_t operand : {size_t{0}, size_t{1}}) {
    const Quantize* cast = cast_of(g, n.ins[operand * 2]);
    if (!cast || cast->scaling != Scaling::power_of_two || turn_of_operand(op, operand) != 2) return false;
    if (cast->box[0] <= 1 || std::any_of(cast->box.begin() + 1, cast->box.end(), [](i64 n) { return n > 1; }))
      return false;
    if (cast->orders != CodeOrders::as_is && !cast->by_sequence) return false;
  }
  return op.x_split == 0 && op.w_split == 0;
}

// at: of the node. operand: 0 or 1.
bool turn_operand(Graph& g, int at, size_t operand, TurnedCodes& gathered) {
  Node& n = g.nodes[size_t(at)];
  QuantizedProduct op = *n.op.get_if<QuantizedProduct>();
  auto [ins, outs] = split_spec(op.spec);
  Value& codes = n.ins[operand * 2];
  const Turn turn{turn_of_operand(op, operand), op.by_sequence};
  int& turned_by = operand == 0 ? op.x_split : op.w_split;
  const bool apart = are_gathered(g, codes);
  if (turn.split <= 0 || turned_by > 0 || !(cast_of(g, codes) || (apart && !turn.by_sequence))) return false;
  const Value by =
      apart ? gathered.of(codes, turn.split, at) : transpose_of(g, g.nodes[size_t(g.info(codes).node)], turn);
  if (!by) return false;
  codes = by, turned_by = turn.split;
  ins[operand] = turn.of(ins[operand]);
  op.spec = ins[0] + "," + ins[1] + "->" + outs[0];
  n.op = op;
  return true;
}

// Leaves out the order that nobody reads.
bool drop_order(Node& n, const std::vector<int>& uses) {
  const auto* q = n.op.get_if<Quantize>();
  if (!q || q->orders != CodeOrders::both) return false;
  const bool as_is = uses[size_t(n.outs[0].id)] > 0, transposed = uses[size_t(n.outs.back().id)] > 0;
  if (as_is == transposed) return false;
  Quantize op = *q;
  op.orders = as_is ? CodeOrders::as_is : CodeOrders::transposed;
  if (as_is) op.split = 0, op.by_sequence = false;
  if (transposed) n.outs[0] = n.outs.back();
  n.outs.pop_back();
  n.op = op;
  return true;
}

}  // namespace

bool transpose_codes(Graph& g) {
  bool changed = false;
  TurnedCodes gathered(g);
  for (int i = 0; i < int(g.nodes.size()); ++i) {
    Node& n = g.nodes[size_t(i)];
    if (const auto* product = n.op.get_if<QuantizedProduct>()) {
      if (sums_by_sequence(g, n)) {
        QuantizedProduct op = *product;
        op.by_sequence = true, n.op = op;
      }
      for (const size_t operand : {size_t{0}, size_t{1}}) changed |= turn_operand(g, i, operand, gathered);
    }
  }
  changed |= gathered.place();
  const std::vector<int> uses = count_uses(g);
  for (Node& n : g.nodes) changed |= drop_order(n, uses);
  return changed;
}

}  // namespace megalith
