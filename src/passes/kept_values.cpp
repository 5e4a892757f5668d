#include "passes/kept_values.h"

#include <algorithm>

#include "graph/relayout_op.h"
#include "ops/activate.h"
#include "ops/einsum.h"
#include "ops/layer_norm.h"
#include "ops/rms_norm.h"
#include "ops/scale.h"
#include "ops/swiglu.h"

namespace megalith {

namespace {

bool is_attention(const AnyOp& op) { return op.name().starts_with("attention"); }
bool is_activation(const AnyOp& op) { return op.get_if<Swiglu>() || op.get_if<Activate>(); }
bool is_norm(const AnyOp& op) { return op.get_if<RmsNorm>() || op.get_if<LayerNorm>(); }
bool in_backward(const Node& n) { return n.phase == Phase::backward || n.phase == Phase::weights; }

class Search {
 public:
  explicit Search(const Graph& g)
      : g_(g), root_(g.values.size()), found_(g.values.size()), out_of_it_(g.values.size()) {
    for (size_t v = 0; v < root_.size(); ++v) root_[v] = {int(v)};
  }

  std::vector<KeptValue> run() {
    for (const auto& [name, v] : g_.outputs) outputs_.push_back(v);
    for (int i = 0; i < int(g_.nodes.size()); ++i) visit(i);
    for (Value v : outputs_) out_of_it_[at(v)] = true;
    std::vector<KeptValue> out;
    for (size_t v = 0; v < found_.size(); ++v)
      if (!out_of_it_[v] && found_[v].made >= 0 && found_[v].read >= 0 && !found_[v].modules.empty()) {
        found_[v].value = {int(v)};
        out.push_back(std::move(found_[v]));
      }
    std::ranges::stable_sort(out, {}, &KeptValue::made);
    return out;
  }

 private:
  size_t at(Value v) const { return size_t(root_[size_t(v.id)].id); }

  void visit(int i) {
    const Node& n = g_.nodes[size_t(i)];
    for (Value v : n.ins) {
      KeptValue& kept = found_[at(v)];
      if (in_backward(n) && kept.read < 0) kept.read = i;
      if (n.phase == Phase::update) out_of_it_[at(v)] = true;
    }
    for (const Alias& a : n.op.aliases())
      if (a.must || a.view) share(i, n.outs[size_t(a.out)], n.ins[size_t(a.in)], a.view && n.phase == Phase::forward);
    if (n.phase != Phase::forward) return;
    for (Value v : n.outs)
      if (root_[size_t(v.id)] == v) found_[at(v)].made = i;
    if (n.op.lane() || n.op.get_if<Wait>())
      for (Value v : n.outs) out_of_it_[at(v)] = true;
    if (n.origin.layer >= 0) name(n);
  }

  void share(int i, Value out, Value in, bool view) {
    root_[size_t(out.id)] = root_[size_t(in.id)];
    if (view)
      found_[at(in)].views.push_back(i);
    else
      out_of_it_[at(in)] = true;
  }

  void name(const Node& n) {
    for (size_t k = 0; k < n.ins.size(); ++k) add(n, n.ins[k], module_of(n, k));
    if (is_attention(n.op))
      for (Value v : n.outs) add(n, v, "core_attn");
  }

  void add(const Node& n, Value v, const std::string& module) {
    KeptValue& kept = found_[at(v)];
    if (module.empty() || std::ranges::count(kept.modules, module)) return;
    if (kept.modules.empty()) kept.stack = n.origin.stack, kept.layer = n.origin.layer;
    kept.modules.push_back(module);
  }

  // The module that keeps input k for the node's gradient; "" if none does.
  std::string module_of(const Node& n, size_t k) const {
    const bool attention = n.origin.module == "attention";
    if (!attention && n.origin.module != "mlp") return "";
    if (is_attention(n.op)) return "core_attn";
    if (k > 0) return "";
    if (is_norm(n.op)) return !n.origin.norm ? "qkv_linear" : attention ? "attn_norm" : "mlp_norm";
    if (is_activation(n.op)) return "mlp_act";
    if (!n.op.get_if<Einsum>()) return "";
    const Node* maker = maker_of(n.ins[k]);
    if (attention) return maker && is_attention(maker->op) ? "attn_proj" : "qkv_linear";
    return maker && is_activation(maker->op) ? "mlp_fc2" : "mlp_fc1";
  }

  // The node that computed it, before changes of layout or precision.
  const Node* maker_of(Value v) const {
    for (;;) {
      if (g_.info(v).node < 0) return nullptr;
      const Node& n = g_.nodes[size_t(g_.info(v).node)];
      if (!n.op.get_if<Relayout>() && !n.op.get_if<Cast>()) return &n;
      v = n.ins[0];
    }
  }

  const Graph& g_;
  std::vector<Value> root_;       // by value: the value whose memory it shares
  std::vector<KeptValue> found_;  // by such a value
  std::vector<bool> out_of_it_;
  std::vector<Value> outputs_;
};

}  // namespace

std::vector<KeptValue> kept_values(const Graph& g) { return Search(g).run(); }

}  // namespace megalith
