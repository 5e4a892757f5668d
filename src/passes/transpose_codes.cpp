// Products of codes on GPUs sum over the last dims of both operands. An operand whose summed dims are first is
// replaced by its transpose from Quantize (CodeOrders):
//   dw = dy^T x over tokens, "sbf,sbh->fh"   ->   "fsb,hsb->fh"
// If both operands have a scale for each block of a sequence's tokens, those tokens become consecutive:
// "fbs,hbs->fh". Each Quantize then writes only the orders that have readers.
#include <algorithm>
#include <tuple>

#include "graph/relayout_op.h"
#include "ops/einsum.h"
#include "ops/quantized_grouped_product.h"
#include "ops/shard_codes.h"
#include "passes/inserted_nodes.h"
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

// Transposes of codes that no cast of this graph can write: of weights that ranks gather, which are leaves, of gathered
// tokens, and of each expert's weight. One for each phase.
class TurnedCodes {
 public:
  explicit TurnedCodes(Graph& g) : g_(g), inserted_(g) {}

  // Made before node `at`, its first reader.
  Value of(Value codes, const Turn& turn, int at) {
    Value& made = made_[{codes, turn, g_.nodes[size_t(at)].phase}];
    if (!made) made = inserted_.before(at, TurnCodes{turn.split, turn.kept}, {codes}).at(0);
    return made;
  }
  bool place() { return inserted_.place(); }

 private:
  Graph& g_;
  InsertedNodes inserted_;
  std::map<std::tuple<Value, Turn, Phase>, Value> made_;
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
  const Value by = apart ? gathered.of(codes, turn, at) : transpose_of(g, g.nodes[size_t(g.info(codes).node)], turn);
  if (!by) return false;
  codes = by, turned_by = turn.split;
  ins[operand] = turn.of(ins[operand]);
  op.spec = ins[0] + "," + ins[1] + "->" + outs[0];
  n.op = op;
  return true;
}

// Products of experts' codes: rows that are summed, and each expert's weight.
bool turn_grouped(Graph& g, int at, TurnedCodes& apart) {
  QuantizedGroupedProduct op = *g.nodes[size_t(at)].op.get_if<QuantizedGroupedProduct>();
  if (op.turned) return false;
  op.turned = true;
  std::vector<Value> ins = g.nodes[size_t(at)].ins;
  for (const int operand : {0, 1}) {
    const Turn turn = op.turn(operand);
    Value& codes = ins[size_t(operand) * 2];
    if (turn.split == 0) continue;
    const bool by_cast = turn.kept == 0 && cast_of(g, codes);
    const Value by = by_cast ? transpose_of(g, g.nodes[size_t(g.info(codes).node)], turn) : Value{};
    codes = by ? by : apart.of(codes, turn, at);
  }
  g.nodes[size_t(at)].ins = ins, g.nodes[size_t(at)].op = op;
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
  for (int i = 0; i < int(g.nodes.size()); ++i)
    if (g.nodes[size_t(i)].op.get_if<QuantizedGroupedProduct>()) changed |= turn_grouped(g, i, gathered);
  changed |= gathered.place();
  const std::vector<int> uses = count_uses(g);
  for (Node& n : g.nodes) changed |= drop_order(n, uses);
  return changed;
}

}  // namespace megalith
