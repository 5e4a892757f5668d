// Overlaps tensor-parallel transfers with the product that reads or makes what they move (--tp-comm-overlap):
//   all-gather of the tokens, then a product       the product begins with a rank's own tokens
//   a product, then a reduce-scatter of its tokens   the transfer begins with the tokens that the product makes first
// A transfer that already overlaps other work keeps its lane.
#include <algorithm>
#include <optional>

#include "mesh/groups.h"
#include "ops/einsum.h"
#include "ops/overlapped_product.h"
#include "ops/quantize.h"
#include "passes/pass.h"

namespace megalith {

namespace {

constexpr int kLane = 6;  // no other transfer is on it

class OverlapProducts {
 public:
  OverlapProducts(Graph& g, i64 least_rows)
      : g_(g), least_rows_(least_rows), uses_(count_uses(g)), first_reader_(g.values.size(), -1) {
    for (int i = int(g_.nodes.size()) - 1; i >= 0; --i)
      for (const Value v : g_.nodes[size_t(i)].ins) first_reader_[size_t(v.id)] = i;
  }

  bool run() {
    std::vector<bool> drop(g_.nodes.size());
    bool changed = false;
    for (int i = 0; i < int(g_.nodes.size()); ++i) {
      const std::optional<int> product = product_of(i);
      if (!product) continue;
      changed = drop[size_t(i)] = true;
      g_.nodes[size_t(*product)] = joined(g_.nodes[size_t(*product)], g_.nodes[size_t(i)]);
    }
    if (changed) drop_nodes(g_, drop);
    return changed;
  }

 private:
  // The product that can overlap the transfer at node i.
  std::optional<int> product_of(int i) const {
    const Node& n = g_.nodes[size_t(i)];
    const auto* r = n.op.get_if<Relayout>();
    if (!r || r->lane || r->into || r->in_place || !groups::tensor.has(r->axes) || r->order != Order::block ||
        r->from_order != Order::block || r->rotated || r->from_rotated)
      return {};
    const bool gathers = r->transfer == Transfer::all_gather && r->from == split(0);
    const bool sums = r->transfer == Transfer::reduce_scatter && r->to == split(0) && uses_[size_t(n.ins[0].id)] == 1;
    if (!gathers && !sums) return {};
    const int at = gathers ? first_reader_[size_t(n.outs[0].id)] : g_.info(n.ins[0]).node;
    if (at < 0 || !has_rows(g_.type(n.outs[0]), g_.type(n.ins[0]))) return {};
    const Node& product = g_.nodes[size_t(at)];
    const bool reads = product.ins[0] == n.outs[0] && std::ranges::count(product.ins, n.outs[0]) == 1;
    const bool fits = (gathers ? reads : product.outs[0] == n.ins[0]) && splits(product);
    return fits && product.phase == n.phase && product.first_only == n.first_only ? std::optional(at) : std::nullopt;
  }

  // Whether each of the two, on one rank, has enough tokens.
  bool has_rows(const Type& a, const Type& b) const {
    const auto rows = [&](const Type& t) {
      const Shape s = local_shape(g_.mesh, t.shape, t.layout);
      return t.ndim() == 3 ? s[0] * s[1] : 0;
    };
    return rows(a) >= least_rows_ && rows(b) >= least_rows_;
  }

  // Whether rows of the result follow from rows of the first input alone.
  bool splits(const Node& n) const {
    const auto* einsum = n.op.get_if<Einsum>();
    const auto* coded = n.op.get_if<QuantizedProduct>();
    if (!(einsum && !einsum->accumulate) && !(coded && !coded->accumulate)) return false;
    if (coded && elements(n.ins[1]) != 1) return false;  // rows have scales
    const auto [ins, outs] = split_spec(einsum ? einsum->spec : coded->spec);
    const char row = outs[0][0];
    return ins[0][0] == row && ins[1].find(row) == std::string::npos;
  }

  i64 elements(Value v) const { return count(local_shape(g_.mesh, g_.type(v).shape, g_.type(v).layout)); }

  static Node joined(const Node& product, const Node& transfer) {
    Relayout move = *transfer.op.get_if<Relayout>();
    move.lane = kLane;
    Node out = product;
    out.op = OverlappedProduct{product.op, move};
    if (move.transfer == Transfer::all_gather) {
      out.ins[0] = transfer.ins[0];
      out.outs = {product.outs[0], transfer.outs[0]};
    } else {
      out.outs = {transfer.outs[0], product.outs[0]};
    }
    return out;
  }

  Graph& g_;
  const i64 least_rows_;
  std::vector<int> uses_, first_reader_;  // by value
};

}  // namespace

bool overlap_products(Graph& g, i64 least_rows) { return OverlapProducts(g, least_rows).run(); }

}  // namespace megalith
