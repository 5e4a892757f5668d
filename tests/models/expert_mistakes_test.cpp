// Mixtures of experts made wrong on purpose, found while the graph is built, on one rank. Most are mistakes that other
// programs have had.
#include "tests/models/expert_mistakes.h"
#include "ops/add.h"
#include "ops/einsum.h"
#include "ops/gather_rows.h"

namespace megalith::harness {

namespace {

// Parameters whose names end so, declared otherwise.
template <class F>
auto declared(const std::string& suffix, F&& otherwise) {
  return [=](Graph& g) {
    for (ValueInfo& v : g.values)
      if (v.role == Role::parameter && v.name.ends_with(suffix)) otherwise(v.type.layout);
    infer_again(g);
  };
}
void same_over_tp(Layout& l) { l.copy.erase(groups::tensor); }

// The relayouts that add up what ranks have counted.
std::vector<int> sums_of_counts(const Graph& g) {
  return nodes_with<Relayout>(g, [](const Relayout& r, const Node& n) {
    return is_of(n, "router losses") && r.from == kPartial && r.to == kCopy;
  });
}
// The relayouts that sum the gradients of experts' weights.
std::vector<int> sums_of_gradients(const Graph& g) {
  return nodes_with<Relayout>(g, [](const Relayout& r, const Node& n) {
    return n.phase == Phase::update && r.from == kPartial && r.axes == kEdp;
  });
}

// The sum at a node, over other axes.
void sum_over(Graph& g, int node, AxisSet axes) {
  Node& n = g.nodes[size_t(node)];
  Relayout r = *n.op.get_if<Relayout>();
  r.axes = axes, n.op = r;
  infer_again(g);
}

// The rows' weights without a gradient.
struct DeafWeights {
  static constexpr std::string_view name = "deaf_weights";
  GatherWeights real;
  std::vector<Type> infer(const InferArgs& a) const { return real.infer(a); }
  std::vector<Value> grad(Builder&, const Node& n, std::span<const Value>) const {
    return std::vector<Value>(n.ins.size());
  }
  Cost cost(Types ins, Types outs) const { return real.cost(ins, outs); }
};

}  // namespace

TEST(ExpertMistakes, are_none_in_a_right_model) {
  EXPECT_EQ(noticed_by(with_losses({.dp = 2, .tp_kv = 2, .ep = 2, .etp = 1})), "");
  EXPECT_EQ(noticed_by(with_bias({.dp = 4, .ep = 2})), "");
}

TEST(ExpertMistakes, router_weight_declared_same_over_tp) {
  TrainingSpec s = routed();
  s.edit_forward = declared("router.weight", same_over_tp);
  expect_found(s, "build: [");
}

TEST(ExpertMistakes, gate_of_the_shared_expert_declared_same_over_tp) {
  TrainingSpec s = routed();
  s.model.moe.shared_expert_intermediate_size = 20, s.model.moe.shared_expert_gate = true;
  s.edit_forward = declared("gate_weight", same_over_tp);
  expect_found(s, "build: [");
}

TEST(ExpertMistakes, experts_on_all_ranks_of_ep) {
  TrainingSpec s = routed();
  s.edit_forward = declared("experts.linear_fc1.weight", [](Layout& l) { l.dims[0] = {}, l.copy.insert(kEp); });
  expect_found(s, "build: [grouped_product]");
}

TEST(ExpertMistakes, experts_whole_on_all_ranks_of_etp) {
  TrainingSpec s = routed();
  s.edit_forward = declared("experts.linear_fc1.weight", [](Layout& l) { l.dims[2] = {}, l.copy.insert(kEtp); });
  expect_found(s, "build: [grouped_product]");
}

TEST(ExpertMistakes, counts_not_summed) {
  TrainingSpec s = with_losses();
  s.edit_forward = [](Graph& g) { bypass(g, sums_of_counts(g).at(0)), infer_again(g); };
  expect_found(s, "build: [einsum]");
}

TEST(ExpertMistakes, counts_summed_over_cp_alone) {
  TrainingSpec s = with_losses();
  s.edit_forward = [](Graph& g) { sum_over(g, sums_of_counts(g).at(0), groups::context); };
  expect_found(s, "build: [einsum]");
}

TEST(ExpertMistakes, losses_of_the_router_added_to_the_main_loss) {
  TrainingSpec s = with_losses();
  s.edit_forward = [](Graph& g) {
    const auto is_main = [&](const Einsum& e, const Node& n) { return e.spec == "sb,sb->" && is_of(n, "loss"); };
    const auto is_term = [&](const Relayout& r, const Node& n) {
      return is_of(n, "router losses") && r.axes == groups::tensor && r.to == kSame;
    };
    Builder b(g);
    add(b, ",->", g.nodes[size_t(nodes_with<Einsum>(g, is_main).back())].outs[0],
        g.nodes[size_t(nodes_with<Relayout>(g, is_term).at(0))].ins[0]);
  };
  expect_found(s, "build: [add]");
}

TEST(ExpertMistakes, gradients_summed_over_all_of_dp_and_cp) {
  TrainingSpec s = routed();
  s.edit_all = [](Graph& g) { sum_over(g, sums_of_gradients(g).at(0), groups::data_context); };
  expect_found(s, "build: [relayout]");
}

TEST(ExpertMistakes, gradients_not_summed_over_edp) {
  TrainingSpec s = routed();
  s.edit_all = [](Graph& g) { bypass(g, sums_of_gradients(g).at(0)), infer_again(g); };
  expect_found(s, "build: [");
}

TEST(ExpertMistakes, weights_of_rows_without_a_gradient) {
  TrainingSpec s = routed();
  s.edit_forward = [](Graph& g) {
    for (Node& n : g.nodes)
      if (const auto* op = n.op.get_if<GatherWeights>()) n.op = DeafWeights{*op};
  };
  expect_found(s, "build: the loss does not depend on parameter");
}

}  // namespace megalith::harness
