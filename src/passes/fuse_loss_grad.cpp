// The weight of each token in the loss is known before the loss. So one op computes the logits' gradient where it reads
// the logits for the loss. They are not read again.
//   m, z = vocab_max_sums(x);  ..  dz = cross_entropy_grad(dy, z);  dx = vocab_sums_grad(dz, x, m)
//   ->  z, dx = vocab_loss(dy, x)
// The nodes that compute dy move before it, out of the backward.
#include <algorithm>

#include "graph/relayout_op.h"
#include "ops/cross_entropy.h"
#include "passes/pass.h"

namespace megalith {

namespace {

struct Loss {
  int sums, z_grad, x_grad;   // nodes
  std::vector<int> makes_dy;  // nodes after `sums`, in order
};

// The nodes after `at` on which v depends, in order. False if one of them depends on node `at`, or moves data.
bool find_makers(const Graph& g, int at, Value v, std::vector<int>& out) {
  const int node = g.info(v).node;
  if (node < at || std::ranges::count(out, node)) return true;
  if (node == at || g.nodes[node].op.get_if<Relayout>() || g.nodes[node].op.get_if<Wait>()) return false;
  for (Value in : g.nodes[node].ins)
    if (!find_makers(g, at, in, out)) return false;
  out.push_back(node);
  return true;
}

class Finder {
 public:
  explicit Finder(const Graph& g) : g_(g), uses_(count_uses(g)) {}

  // The loss whose logits' gradient is computed by node `x_grad`, if the two can be fused.
  bool find(int x_grad, Loss& loss) const {
    const auto* op = g_.nodes[x_grad].op.get_if<VocabSumsGrad>();
    if (!op) return false;
    const std::vector<Value>& ins = g_.nodes[x_grad].ins;  // dz, x, labels, m
    loss = {g_.info(ins[3]).node, g_.info(ins[0]).node, x_grad, {}};
    if (loss.sums < 0 || loss.z_grad < 0 || uses_[ins[3].id] != 1 || uses_[ins[0].id] != 1) return false;
    const Node &sums = g_.nodes[loss.sums], &z_grad = g_.nodes[loss.z_grad];
    const auto* first = sums.op.get_if<VocabMaxSums>();
    if (!first || first->vocab != op->vocab || sums.ins != std::vector{ins[1], ins[2]}) return false;
    if (!z_grad.op.get_if<CrossEntropyGrad>() || z_grad.ins[1] != sums.outs[1]) return false;
    const Value dy = z_grad.ins[0];
    return keeps_types(dy, sums, g_.nodes[x_grad]) && find_makers(g_, loss.sums, dy, loss.makes_dy);
  }

 private:
  // One op needs dy as the tokens are, not as terms of sums.
  bool keeps_types(Value dy, const Node& sums, const Node& x_grad) const {
    const Layout &tokens = g_.type(sums.ins[1]).layout, &factors = g_.type(dy).layout;
    if (factors.dims != tokens.dims || !factors.partial.empty()) return false;
    const std::vector<Value> ins = {dy, sums.ins[0], sums.ins[1]};
    const std::vector<Type> types = AnyOp(VocabLoss{}).infer(infer_args(g_, ins, sums.phase));
    return types[0] == g_.type(sums.outs[1]) && types[1] == g_.type(x_grad.outs[0]);
  }

  const Graph& g_;
  std::vector<int> uses_;
};

void join(Graph& g, const Loss& loss) {
  std::vector<Node> nodes;
  for (int i = 0; i < int(g.nodes.size()); ++i) {
    if (i == loss.sums) {
      for (int m : loss.makes_dy) {
        nodes.push_back(g.nodes[m]);
        nodes.back().phase = g.nodes[i].phase;
      }
      Node one = g.nodes[i];
      one.op = VocabLoss{one.op.get_if<VocabMaxSums>()->vocab};
      one.ins = {g.nodes[loss.z_grad].ins[0], one.ins[0], one.ins[1]};
      one.outs = {one.outs[1], g.nodes[loss.x_grad].outs[0]};
      nodes.push_back(std::move(one));
    } else if (i != loss.z_grad && i != loss.x_grad && !std::ranges::count(loss.makes_dy, i)) {
      nodes.push_back(g.nodes[i]);
    }
  }
  set_nodes(g, std::move(nodes));
}

}  // namespace

bool fuse_loss_grad(Graph& g) {
  Loss loss;
  const Finder finder(g);
  for (int i = 0; i < int(g.nodes.size()); ++i)
    if (finder.find(i, loss)) return join(g, loss), true;  // a model has one
  return false;
}

}  // namespace megalith
