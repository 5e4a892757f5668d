// Additions that are fused into the producer of their last operand:
//   add(x w, bias)       -> an einsum with `bias`
//   add(c, x w)          -> an einsum with `plus`: residual additions, sums of gradients through q, k and v
//   add(c, codes)        -> the same by a product of codes
//   add(c, norm's dx)    -> a norm's gradient with `residual`
//   add(rows, rows)      -> sums of experts' rows of two parts of the tokens: the second adds
// The producer's result must have no other use, and the producer must come after the other operand. Then the fused
// node can take the producer's place. All types are equal, so a partial sum never meets a reduced value.
#include "graph/relayout_op.h"
#include "ops/add.h"
#include "ops/einsum.h"
#include "ops/gather_rows.h"
#include "ops/layer_norm.h"
#include "ops/quantize.h"
#include "ops/rms_norm.h"
#include "passes/pass.h"

namespace megalith {

namespace {

// A sum of two values as its operand that was computed last, and the other.
struct Addition {
  Value last, other, out;
};

bool is_sum(const Graph& g, const Node& n) {
  if (n.op.get_if<AddGrad>()) return true;
  const auto* add = n.op.get_if<Add>();
  if (!add) return false;
  const auto ins = split_spec(add->spec).first;
  return ins[0] == ins[1] && g.type(n.ins[0]) == g.type(n.ins[1]);
}

// The node becomes what its producer was, with an addition; true if `fuse` could turn the producer into that.
template <class F>
bool fuse_into_producer(Graph& g, const Node& sum, const Addition& s, const std::vector<int>& uses, F&& fuse) {
  const int at = g.info(s.last).node;
  if (at < 0 || uses[s.last.id] != 1 || g.info(s.other).node >= at) return false;
  Node& producer = g.nodes[at];
  if (producer.phase != sum.phase || g.type(s.out) != g.type(s.last) || !fuse(producer, s)) return false;
  g.values[s.out.id].node = at;
  return true;
}

// Goes through all sums of two values of one type.
template <class F>
bool fuse_sums(Graph& g, F&& fuse) {
  const std::vector<int> uses = count_uses(g);
  std::vector<bool> drop(g.nodes.size());
  bool changed = false;
  for (size_t i = 0; i < g.nodes.size(); ++i) {
    const Node& n = g.nodes[i];
    if (!is_sum(g, n)) continue;
    const bool second = g.info(n.ins[1]).node > g.info(n.ins[0]).node;
    const Addition s{n.ins[second], n.ins[!second], n.outs[0]};
    if (fuse_into_producer(g, n, s, uses, fuse)) drop[i] = changed = true;
  }
  drop_nodes(g, drop);
  return changed;
}

bool add_to_rows(const Graph& g, Node& n, const Addition& s) {
  const auto* rows = n.op.get_if<CombineRows>();
  const int before = g.info(s.other).node;
  if (!rows || rows->adds || before < 0 || !g.nodes[before].op.get_if<CombineRows>()) return false;
  n.op = CombineRows{.adds = true, .filled = rows->filled};
  n.ins.push_back(s.other);
  n.outs[0] = s.out;
  return true;
}

bool add_to_product(Node& n, const Addition& s) {
  const auto* e = n.op.get_if<Einsum>();
  if (!e || e->accumulate || e->plus) return false;
  Einsum fused = *e;
  fused.plus = true;
  n.op = fused;
  n.ins.insert(n.ins.begin() + 2, s.other);
  n.outs[0] = s.out;
  return true;
}

bool add_to_product_of_codes(Node& n, const Addition& s) {
  const auto* p = n.op.get_if<QuantizedProduct>();
  if (!p || p->accumulate || p->plus) return false;
  QuantizedProduct fused = *p;
  fused.plus = true;
  n.op = fused;
  n.ins.push_back(s.other);
  n.outs[0] = s.out;
  return true;
}

template <class Norm>
bool add_to_gradient_of(Node& n, const Addition& s) {
  const auto* norm = n.op.get_if<Norm>();
  if (!norm || norm->residual || norm->with_output || n.outs[0] != s.last) return false;
  Norm fused = *norm;
  fused.residual = true;
  n.op = fused;
  n.ins.push_back(s.other);
  n.outs[0] = s.out;
  return true;
}

bool add_bias(Node& n, const Addition& s) {
  const auto* e = n.op.get_if<Einsum>();
  if (!e || e->accumulate || e->bias) return false;
  Einsum fused = *e;
  fused.bias = true;
  n.op = fused;
  n.ins.push_back(s.other);
  n.outs[0] = s.out;
  return true;
}

}  // namespace

bool fuse_add(Graph& g) {
  return fuse_sums(g, [&](Node& n, const Addition& s) { return add_to_product(n, s) || add_to_rows(g, n, s); });
}

bool fuse_code_add(Graph& g) { return fuse_sums(g, add_to_product_of_codes); }

bool fuse_residual(Graph& g) {
  return fuse_sums(g, [](Node& n, const Addition& s) {
    return add_to_gradient_of<RmsNormGrad>(n, s) || add_to_gradient_of<LayerNormGrad>(n, s);
  });
}

bool fuse_bias(Graph& g) {
  const std::vector<int> uses = count_uses(g);
  std::vector<bool> drop(g.nodes.size());
  bool changed = false;
  for (size_t i = 0; i < g.nodes.size(); ++i) {
    const Node& n = g.nodes[i];
    const auto* add = n.op.get_if<Add>();
    if (!add) continue;
    const auto [ins, outs] = split_spec(add->spec);
    if (ins[0] != outs[0] || ins[1].size() >= ins[0].size() || !ins[0].ends_with(ins[1])) continue;
    if (fuse_into_producer(g, n, {n.ins[0], n.ins[1], n.outs[0]}, uses, add_bias)) drop[i] = changed = true;
  }
  drop_nodes(g, drop);
  return changed;
}

}  // namespace megalith
