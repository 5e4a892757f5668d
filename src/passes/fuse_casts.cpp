// Ops whose result is only cast write codes instead of values (ops/coded_result.h):
//   y = swiglu(x); codes, scale_inv, codes_t = quantize(y, state)
//   ->   codes, scale_inv, codes_t = coded_result(x, state)
// If other nodes read y too, its casts become one node, which reads y once. The pass does this if the device has a
// kernel for the new node. A scale that follows from the amax of all of y is not known in time.
#include <algorithm>

#include "ops/coded_result.h"
#include "passes/pass.h"

namespace megalith {

namespace {

bool may_fuse(const Quantize& cast) { return !cast.stochastic && !cast.takes_amax(); }

// The casts of a value that may be fused, as nodes. others: other nodes read it too.
struct Readers {
  std::vector<int> casts;
  bool others = false;
};

class FuseCasts {
 public:
  FuseCasts(Graph& g, const HasKernel& has_kernel)
      : g_(g), has_kernel_(has_kernel), readers_(g.values.size()), drop_(g.nodes.size()) {
    for (int i = 0; i < int(g_.nodes.size()); ++i) {
      const Node& n = g_.nodes[size_t(i)];
      for (size_t k = 0; k < n.ins.size(); ++k) {
        Readers& r = readers_[size_t(n.ins[k].id)];
        const auto* cast = n.op.get_if<Quantize>();
        if (cast && k == 0 && may_fuse(*cast))
          r.casts.push_back(i);
        else
          r.others = true;
      }
    }
    for (const auto& [name, v] : g_.outputs) readers_[size_t(v.id)].others = true;
  }

  bool run() {
    bool changed = false;
    for (int v = 0; v < int(readers_.size()); ++v) changed |= fuse({v});
    if (changed) drop_nodes(g_, drop_);
    return changed;
  }

 private:
  bool fuse(Value v) {
    const Readers& r = readers_[size_t(v.id)];
    const int made_by = g_.info(v).node;
    if (r.casts.empty() || made_by < 0) return false;
    const Node& first = g_.nodes[size_t(r.casts[0])];
    const auto runs_with = [&](const Node& n) { return n.phase == first.phase && n.first_only == first.first_only; };
    if (!std::ranges::all_of(r.casts, [&](int i) { return runs_with(g_.nodes[size_t(i)]); })) return false;
    const Node& source = g_.nodes[size_t(made_by)];
    if (!r.others && source.outs[0] == v && runs_with(source) && put(v, r.casts, made_by)) return true;
    return r.casts.size() > 1 && put(v, r.casts, -1);
  }

  // Puts the new node in the place of the source, or of the first cast. source: the node whose first result is v, or
  // -1. False: an input does not exist there, or the device has no kernel.
  bool put(Value v, const std::vector<int>& casts, int source) {
    const int at = source >= 0 ? source : casts[0];
    Node n = g_.nodes[size_t(at)];
    CodedResult op{{}, g_.type(v), {}};
    std::vector<Value> ins = {v}, outs;
    if (source >= 0) {
      op.op = n.op, ins = n.ins;
      outs.assign(n.outs.begin() + 1, n.outs.end());
    }
    for (const int i : casts) {
      const Node& cast = g_.nodes[size_t(i)];
      op.casts.push_back(*cast.op.get_if<Quantize>());
      ins.insert(ins.end(), cast.ins.begin() + 1, cast.ins.end());
      outs.insert(outs.end(), cast.outs.begin(), cast.outs.end());
    }
    if (std::ranges::any_of(ins, [&](Value in) { return g_.info(in).node >= at; })) return false;
    n.op = op, n.ins = ins, n.outs = outs;
    if (!has_kernel_(g_, n)) return false;
    g_.nodes[size_t(at)] = n;
    for (const int i : casts) drop_[size_t(i)] = i != at;
    return true;
  }

  Graph& g_;
  const HasKernel& has_kernel_;
  std::vector<Readers> readers_;  // by value
  std::vector<bool> drop_;        // by node
};

}  // namespace

bool fuse_casts(Graph& g, const HasKernel& has_kernel) { return FuseCasts(g, has_kernel).run(); }

}  // namespace megalith
