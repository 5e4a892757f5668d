// Ops whose result is only cast write codes instead of values (ops/coded_result.h):
//   y = swiglu(x); codes, scale_inv, codes_t = quantize(y, state)   ->   codes, scale_inv, codes_t = coded_result(x)
// If something else reads y too, several casts of it become one, which reads y once. Both apply to scales that are
// known before y, or that follow from blocks of y: not to a scale that follows from the amax of all of y.
#include <algorithm>

#include "ops/coded_result.h"
#include "ops/rms_norm.h"
#include "ops/swiglu.h"
#include "passes/pass.h"

namespace megalith {

namespace {

bool may_fuse(const Quantize& cast) {
  if (cast.stochastic || cast.takes_amax()) return false;
  return cast.scaling == Scaling::kept || cast.scaling == Scaling::power_of_two;
}

// Whether a kernel can cast the op's first result on the way.
bool makes_codes(const AnyOp& op) {
  if (const auto* grad = op.get_if<SwigluGrad>()) return !grad->gives_amax;
  if (const auto* norm = op.get_if<RmsNorm>()) return !norm->gives_amax;
  const auto* swiglu = op.get_if<Swiglu>();
  return swiglu && !swiglu->gives_amax;
}

// The casts of a value that may be fused. others: other nodes read it too.
struct Readers {
  std::vector<int> casts;
  bool others = false;
};

class FuseCasts {
 public:
  explicit FuseCasts(Graph& g) : g_(g), readers_(g.values.size()), drop_(g.nodes.size()) {
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
    if (r.casts.empty()) return false;
    const Node& first = g_.nodes[size_t(r.casts[0])];
    const int made_by = g_.info(v).node;
    const auto alike = [&](const Node& n) { return n.phase == first.phase && n.first_only == first.first_only; };
    if (!std::ranges::all_of(r.casts, [&](int i) { return alike(g_.nodes[size_t(i)]); })) return false;
    if (made_by >= 0 && !r.others) {
      const Node& source = g_.nodes[size_t(made_by)];
      if (alike(source) && source.outs[0] == v && makes_codes(source.op) && knows_inputs(r.casts, made_by))
        return put(v, r.casts, made_by), true;
    }
    // Casts of weights are apart: their scales belong to other products.
    if (r.casts.size() < 2 || made_by < 0 || !knows_inputs(r.casts, r.casts[0])) return false;
    return put(v, r.casts, -1), true;
  }

  // Whether the other inputs of the casts exist at node `at`.
  bool knows_inputs(const std::vector<int>& casts, int at) const {
    return std::ranges::all_of(casts, [&](int i) {
      const std::vector<Value>& ins = g_.nodes[size_t(i)].ins;
      return std::all_of(ins.begin() + 1, ins.end(), [&](Value v) { return g_.info(v).node < at; });
    });
  }

  // source: the node whose first result is v, or -1.
  void put(Value v, const std::vector<int>& casts, int source) {
    Node& to = g_.nodes[size_t(source >= 0 ? source : casts[0])];
    CodedResult op{{}, g_.type(v), {}};
    std::vector<Value> ins = {v}, outs;
    if (source >= 0) {
      op.op = to.op, ins = to.ins;
      outs.assign(to.outs.begin() + 1, to.outs.end());
    }
    for (const int i : casts) {
      const Node& n = g_.nodes[size_t(i)];
      op.casts.push_back(*n.op.get_if<Quantize>());
      ins.insert(ins.end(), n.ins.begin() + 1, n.ins.end());
      outs.insert(outs.end(), n.outs.begin(), n.outs.end());
      drop_[size_t(i)] = &n != &to;
    }
    to.op = op, to.ins = ins, to.outs = outs;
  }

  Graph& g_;
  std::vector<Readers> readers_;  // by value
  std::vector<bool> drop_;        // by node
};

}  // namespace

bool fuse_casts(Graph& g) { return FuseCasts(g).run(); }

}  // namespace megalith
