// Products of codes on GPUs sum over the last dims of both operands. An operand whose summed dims stand first becomes
// the transpose that Quantize gives of it (CodeOrders):
//   dw = dy^T x over tokens, "sbf,sbh->fh"   ->   "fsb,hsb->fh"
// Each Quantize then gives the orders that somebody reads, and no others.
#include <algorithm>

#include "ops/einsum.h"
#include "ops/quantize.h"
#include "passes/pass.h"

namespace megalith {

namespace {

// By how many dims `letters` must be turned so that those that `with` shares, and y lacks, are last. 0: by none; -1:
// there is no such turn.
int turn_of(const std::string& letters, const std::string& with, const std::string& y) {
  const auto is_summed = [&](char c) { return with.find(c) != std::string::npos && y.find(c) == std::string::npos; };
  const auto first = std::ranges::find_if_not(letters, is_summed);
  if (std::find_if(first, letters.end(), is_summed) == letters.end())
    return first == letters.end() ? 0 : int(first - letters.begin());
  const auto kept = std::ranges::find_if(letters, is_summed);
  return std::find_if_not(kept, letters.end(), is_summed) == letters.end() ? 0 : -1;
}

// The node's transposed codes by `split`; {}: it gives those of another split.
Value transpose_of(Graph& g, Node& n, int split) {
  auto op = *n.op.get_if<Quantize>();
  if (op.orders != CodeOrders::as_is) return op.split == split ? n.outs.back() : Value{};
  op.orders = CodeOrders::both, op.split = split;
  const int at = g.info(n.outs[0]).node;
  g.values.push_back({.type = turned(g.type(n.outs[0]), split), .node = at});
  n.outs.push_back({int(g.values.size()) - 1});
  n.op = op;
  return n.outs.back();
}

// operand: 0 or 1.
bool turn_operand(Graph& g, Node& n, int operand) {
  QuantizedProduct op = *n.op.get_if<QuantizedProduct>();
  auto [ins, outs] = split_spec(op.spec);
  Value& codes = n.ins[size_t(operand) * 2];
  const int made_by = g.info(codes).node, split = turn_of(ins[size_t(operand)], ins[size_t(1 - operand)], outs[0]);
  int& turned_by = operand == 0 ? op.x_split : op.w_split;
  if (split <= 0 || turned_by > 0 || made_by < 0 || !g.nodes[size_t(made_by)].op.get_if<Quantize>()) return false;
  const Value by = transpose_of(g, g.nodes[size_t(made_by)], split);
  if (!by) return false;
  codes = by, turned_by = split;
  std::string& letters = ins[size_t(operand)];
  std::rotate(letters.begin(), letters.begin() + split, letters.end());
  op.spec = ins[0] + "," + ins[1] + "->" + outs[0];
  n.op = op;
  return true;
}

// Leaves out the order that nobody reads.
bool drop_order(Node& n, const std::vector<int>& uses) {
  const auto* q = n.op.get_if<Quantize>();
  if (!q || q->orders != CodeOrders::both) return false;
  const bool as_is = uses[size_t(n.outs[0].id)] > 0, transposed = uses[size_t(n.outs[2].id)] > 0;
  if (as_is == transposed) return false;
  Quantize op = *q;
  op.orders = as_is ? CodeOrders::as_is : CodeOrders::transposed;
  if (as_is) op.split = 0;
  n.outs = {n.outs[as_is ? 0 : 2], n.outs[1]};
  n.op = op;
  return true;
}

}  // namespace

bool transpose_codes(Graph& g) {
  bool changed = false;
  for (Node& n : g.nodes)
    if (n.op.get_if<QuantizedProduct>())
      for (const int operand : {0, 1}) changed |= turn_operand(g, n, operand);
  const std::vector<int> uses = count_uses(g);
  for (Node& n : g.nodes) changed |= drop_order(n, uses);
  return changed;
}

}  // namespace megalith
