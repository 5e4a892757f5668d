// accumulate(acc, einsum(x, w)) becomes one einsum that adds into acc, so the weight gradient needs no separate buffer.
// The same for products of experts and the embedding's gradient. accumulate(acc, a + b) first becomes two
// accumulations.
#include "graph/relayout_op.h"
#include "ops/einsum.h"
#include "ops/embedding.h"
#include "ops/quantized_grouped_product.h"
#include "ops/update.h"
#include "passes/gradients.h"
#include "passes/pass.h"

namespace megalith {

namespace {

// `accumulate(acc, a + b) -> accumulate(accumulate(acc, a), b)`. The first is right after a, so that chains stay in the
// order of their parts.
bool split_sums(Graph& g) {
  const std::vector<int> uses = count_uses(g);
  for (size_t i = 0; i < g.nodes.size(); ++i) {
    const auto* acc = g.nodes[i].op.get_if<Accumulate>();
    if (!acc || updates_untrained(g, g.nodes[i])) continue;
    const Value sum = g.nodes[i].ins[1];
    const int at = g.info(sum).node;
    if (at < 0 || uses[sum.id] != 1 || !g.nodes[at].op.get_if<AddGrad>()) continue;
    const Value a = g.nodes[at].ins[0], b = g.nodes[at].ins[1], into = g.nodes[i].ins[0];
    // The node of the sum becomes the first accumulation: its result is now the accumulator after the first term.
    g.nodes[at] = Node{Accumulate{acc->ndim, acc->starts}, {into, a}, {sum}, g.nodes[at].phase, g.nodes[at].origin};
    g.nodes[i].op = Accumulate{acc->ndim, false};
    g.nodes[i].ins = {sum, b};
    return true;
  }
  return false;
}

bool fuse_producer(Graph& g, size_t i, const std::vector<int>& uses) {
  const auto* acc = g.nodes[i].op.get_if<Accumulate>();
  if (!acc || updates_untrained(g, g.nodes[i])) return false;
  const Value into = g.nodes[i].ins[0], x = g.nodes[i].ins[1];
  const int at = g.info(x).node;
  if (at < 0 || uses[x.id] != 1 || g.type(x) != g.type(into)) return false;
  const Node& producer = g.nodes[at];
  Node& fused = g.nodes[i];
  if (const auto* e = producer.op.get_if<Einsum>(); e && !e->accumulate) {
    fused.ins = {producer.ins[0], producer.ins[1], into};
    fused.op = Einsum{e->spec, e->dtype, true, acc->starts};
    return true;
  }
  const auto adds_into = [&](auto op) {
    op.accumulate = true, op.starts = acc->starts;
    fused.ins = producer.ins;
    fused.ins.push_back(into);
    fused.op = op;
    return true;
  };
  if (const auto* e = producer.op.get_if<QuantizedProduct>(); e && !e->accumulate && !e->plus) return adds_into(*e);
  if (const auto* e = producer.op.get_if<GroupedProduct>(); e && !e->accumulate) return adds_into(*e);
  if (const auto* e = producer.op.get_if<QuantizedGroupedProduct>(); e && !e->accumulate) return adds_into(*e);
  if (const auto* e = producer.op.get_if<EmbeddingGrad>(); e && !e->accumulate) {
    fused.ins = {producer.ins[0], producer.ins[1], into};
    fused.op = EmbeddingGrad{e->dtype, true, acc->starts};
    return true;
  }
  return false;
}

}  // namespace

bool fuse_accumulate(Graph& g) {
  bool changed = false;
  while (split_sums(g)) changed = true;
  const std::vector<int> uses = count_uses(g);
  for (size_t i = 0; i < g.nodes.size(); ++i) changed |= fuse_producer(g, i, uses);
  return remove_dead(g) || changed;
}

}  // namespace megalith
