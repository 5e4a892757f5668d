#include "tests/models/mistakes.h"

#include <gtest/gtest.h>

#include <iostream>

#include "ops/cross_entropy.h"
#include "ops/dropout.h"
#include "ops/embedding.h"
#include "ops/rope.h"

namespace megalith::harness {

namespace {

const Mesh kOne = make_mesh({});
constexpr ParallelStyle kSp{true, Order::block, false};

// `how`: the start of what noticed it, "build" (on one rank), "run" or "numbers".
void expect_noticed(const std::string& mistake, const TrainingSpec& spec, const std::string& how) {
  const std::string by = noticed_by(spec);
  std::cout << fmt::format("{}: {}\n", mistake, by.substr(0, 150));
  EXPECT_EQ(by.substr(0, how.size()), how) << mistake << ": " << (by.empty() ? "not noticed" : by);
}

TrainingSpec llama(const Mesh& mesh, ParallelStyle style = {false, Order::block, false}) {
  return {.model = llama_like(), .mesh = mesh, .style = style, .micro_batches = 2};
}
TrainingSpec gpt2(const Mesh& mesh, ParallelStyle style = {false, Order::block, false}) {
  return {.model = gpt2_like(), .mesh = mesh, .style = style, .micro_batches = 2};
}

// Relayouts over tp from one state to another, in a part of the model.
std::vector<int> relayouts(const Graph& g, State from, State to, const std::string& tag) {
  return nodes_with<Relayout>(g, [&](const Relayout& r, const Node& n) {
    return r.from == from && r.to == to && r.axes == groups::tensor && to_string(n.origin).starts_with(tag);
  });
}

// In the forward graph: removes the first relayout of this kind, and types all later nodes again.
auto left_out(State from, State to) {
  return [=](Graph& g) { bypass(g, relayouts(g, from, to, "layer").at(0)), infer_again(g); };
}

// Parameters whose names end so are declared Same over these axes.
auto declared_same(const std::string& suffix, AxisSet axes) {
  return [=](Graph& g) {
    for (ValueInfo& v : g.values)
      if (v.role == Role::parameter && v.name.ends_with(suffix)) v.type.layout.copy.erase(axes);
    infer_again(g);
  };
}

// A relayout that passes the cotangent on as it came.
struct Forgetful {
  static constexpr std::string_view name = "forgetful";
  Relayout real;
  std::vector<Type> infer(const InferArgs& a) const { return real.infer(a); }
  std::vector<Value> grad(Builder&, const Node&, std::span<const Value> dys) const { return {dys[0]}; }
  Cost cost(Types ins, Types outs) const { return real.cost(ins, outs); }
};

// A cast: its type is what somebody wished.
struct Lie {
  static constexpr std::string_view name = "lie";
  Type to;
  std::vector<Type> infer(const InferArgs&) const { return {to}; }
  std::vector<Value> grad(Builder&, const Node&, std::span<const Value> dys) const { return {dys[0]}; }
  Cost cost(Types, Types) const { return {}; }
};

}  // namespace

// ---- found while the graph is built, on one rank

TEST(ModelMistakes, row_parallel_result_not_reduced) {
  TrainingSpec s = llama(kOne);
  s.edit_forward = left_out(kPartial, kSame);
  expect_noticed("row-parallel result not reduced", s, "build: [");
}

TEST(ModelMistakes, row_parallel_result_with_bias_not_reduced) {
  TrainingSpec s = gpt2(kOne);
  s.edit_forward = left_out(kPartial, kSame);
  expect_noticed("bias added to a partial sum", s, "build: [add]");
}

TEST(ModelMistakes, column_parallel_input_not_entered) {
  TrainingSpec s = llama(kOne);
  s.edit_forward = left_out(kSame, kCopy);
  expect_noticed("column-parallel input not entered", s, "build: [einsum]");
}

TEST(ModelMistakes, sp_gather_typed_same) {
  TrainingSpec s = llama(kOne, kSp);
  s.edit_forward = [](Graph& g) {
    Node& n = g.nodes[relayouts(g, split(0), kCopy, "layer").at(0)];
    Relayout r = *n.op.get_if<Relayout>();
    r.to = kSame;
    n.op = r;
    infer_again(g);
  };
  expect_noticed("SP all-gather typed Same", s, "build: [einsum]");
}

TEST(ModelMistakes, norm_weights_declared_same_under_sp) {
  TrainingSpec s = llama(kOne, kSp);
  s.edit_forward = declared_same("input_layernorm.weight", groups::tensor);
  expect_noticed("norm weights declared Same under SP", s, "build: [rms_norm]");
}

TEST(ModelMistakes, replicated_key_weights_declared_same) {
  TrainingSpec s = llama(kOne);
  s.edit_forward = declared_same("linear_k.weight", {groups::query_heads});
  expect_noticed("replicated K/V weights declared Same over tp_rep", s, "build: [einsum]");
}

TEST(ModelMistakes, cast_from_partial_to_same) {
  TrainingSpec s = llama(kOne);
  s.edit_forward = [](Graph& g) {  // the type says reduced, nothing moves, the gradient passes
    Node& n = g.nodes[relayouts(g, kPartial, kSame, "layer").at(0)];
    n.op = Lie{g.type(n.outs[0])};
  };
  expect_noticed("a cast from Partial to Same without a collective", s, "build: [lie]");
}

TEST(ModelMistakes, walk_leaves_out_the_all_reduce_of_dx) {
  TrainingSpec s = llama(kOne);
  s.edit_forward = [](Graph& g) {
    Node& n = g.nodes[relayouts(g, kSame, kCopy, "layer").at(0)];
    n.op = Forgetful{*n.op.get_if<Relayout>()};
  };
  expect_noticed("the walk leaves out the all-reduce of dx", s, "build: [forgetful]");
}

// Of multi-head latent attention: the key that turns is one for all heads, and each rank has a term of its gradient.

TrainingSpec latent(ParallelStyle style = {false, Order::block, false}) {
  return {.model = mla_like(), .mesh = kOne, .style = style, .micro_batches = 2};
}
constexpr size_t kSharedKey = 2;  // of what enters the heads: the queries' latent, the keys', the key that turns

TEST(ModelMistakes, shared_key_not_entered) {
  TrainingSpec s = latent();
  s.edit_forward = [](Graph& g) {
    bypass(g, relayouts(g, kSame, kCopy, "layer 0 attention").at(kSharedKey)), infer_again(g);
  };
  expect_noticed("the key of all heads spread over ranks without its twin", s, "build: [latent_keys]");
}

TEST(ModelMistakes, walk_leaves_out_the_sum_of_the_shared_key) {
  for (const ParallelStyle& style : {ParallelStyle{false, Order::block, false}, kSp}) {
    TrainingSpec s = latent(style);
    s.edit_forward = [&](Graph& g) {
      const State from = style.sequence_parallel ? split(0) : kSame;
      Node& n = g.nodes[relayouts(g, from, kCopy, "layer 0 attention").at(kSharedKey)];
      n.op = Forgetful{*n.op.get_if<Relayout>()};
    };
    expect_noticed("the walk leaves out the sum of the shared key's gradient", s, "build: [forgetful]");
  }
}

TEST(ModelMistakes, down_projection_declared_same_under_sp) {
  TrainingSpec s = latent(kSp);
  s.edit_forward = declared_same("linear_kv_down_proj.weight", groups::tensor);
  expect_noticed("down projection declared Same under SP", s, "build: [einsum]");
}

// ---- found by replicas that differ, or by the numbers

TEST(ModelMistakes, all_reduce_does_nothing) {
  TrainingSpec s = llama(make_mesh({1, 1, 2, 2}));
  s.fault = [](RankSet& r, int p, const Instruction& in) {
    const auto* op = in.op.get_if<Relayout>();
    if (!op || op->transfer != Transfer::all_reduce) return false;
    r.set_blocks(p, in.outs[0], r.blocks(p, in.ins[0]));
    return true;
  };
  expect_noticed("all-reduce does nothing", s, "run: replicas differ");
}

TEST(ModelMistakes, reduce_scatter_of_one_rank) {
  TrainingSpec s = llama(make_mesh({1, 1, 2, 2}), kSp);
  s.fault = [](RankSet& r, int p, const Instruction& in) {  // the terms of the others are dropped before it
    const auto* op = in.op.get_if<Relayout>();
    if (!op || op->transfer != Transfer::reduce_scatter) return false;
    Blocks x = r.blocks(p, in.ins[0]);
    for (int rank = 0; rank < r.mesh().num_ranks(); ++rank)
      if (r.mesh().place(r.mesh().coord(rank), groups::kv_heads) != 0) std::fill(x[rank].begin(), x[rank].end(), 0.0);
    r.set_blocks(p, in.ins[0], x);
    return false;
  };
  expect_noticed("reduce-scatter takes one rank's part only", s, "numbers");
}

// An op whose kernel thinks that it runs at the start of these axes.
template <class... T>
RankSet::Fault local_index(AxisSet axes) {
  return [axes](RankSet& r, int p, const Instruction& in) {
    if (!(... || in.op.get_if<T>())) return false;
    r.run_at(p, in, [&](Coord c) { return r.mesh().at(c, axes, 0); });
    return true;
  };
}

TEST(ModelMistakes, dropout_by_local_index) {
  TrainingSpec s = gpt2(make_mesh({1, 1, 2, 1}), kSp);
  s.fault = local_index<Dropout>({groups::kv_heads});
  expect_noticed("dropout keyed by local index", s, "numbers");
}

TEST(ModelMistakes, rope_by_local_position) {
  TrainingSpec s = llama(make_mesh({1, 2, 1, 1}));
  s.fault = local_index<Rope>({groups::context});
  expect_noticed("rope by local position", s, "numbers");
}

TEST(ModelMistakes, causal_mask_by_local_position) {
  TrainingSpec s = llama(make_mesh({1, 2, 1, 1}), {false, Order::zigzag, false});
  s.fault = local_index<Attention, AttentionGrad>({groups::context});
  expect_noticed("causal mask by local position", s, "numbers");
}

TEST(ModelMistakes, attention_dropout_by_local_head) {
  TrainingSpec s = gpt2(make_mesh({1, 1, 2, 1}));
  s.fault = local_index<Attention, AttentionGrad>({groups::kv_heads});
  expect_noticed("attention dropout by local head", s, "numbers");
}

TEST(ModelMistakes, loss_seed_is_one_over_n) {
  TrainingSpec s = llama(make_mesh({2, 1, 1, 1}));
  s.fault = [](RankSet& r, int p, const Instruction& in) {
    if (!in.op.get_if<Ones>()) return false;
    r.set_blocks(p, in.outs[0], {{0.5}, {0.5}});
    return true;
  };
  expect_noticed("loss seed is 1/n", s, "numbers");
}

TEST(ModelMistakes, token_count_not_summed) {
  TrainingSpec s = llama(make_mesh({2, 1, 1, 1}));
  s.fault = [](RankSet& r, int p,
               const Instruction& in) {  // the scalars' sums: squares over all axes, loss and tokens over dp
    const auto* op = in.op.get_if<Relayout>();
    const auto& program = r.plan().programs[p];
    if (in.phase != Phase::update || !op || program.buffers[in.ins[0]].leaf < 0) return false;
    if (r.plan().leaves[program.buffers[in.ins[0]].leaf].name != "token_sum") return false;
    r.set_blocks(p, in.outs[0], r.blocks(p, in.ins[0]));
    return true;
  };
  expect_noticed("token count not summed over dp", s, "run: replicas differ");
}

TEST(ModelMistakes, step_reduction_forgets_tp) {
  TrainingSpec s = llama(make_mesh({1, 1, 2, 2}), kSp);
  s.fault = [](RankSet& r, int p, const Instruction& in) {  // of the norms' weights, which no rank splits
    const auto* op = in.op.get_if<Relayout>();
    if (in.phase != Phase::update || !op || op->transfer != Transfer::all_reduce) return false;
    if (r.plan().programs[p].buffers[in.ins[0]].type.ndim() != 1) return false;
    r.set_blocks(p, in.outs[0], r.blocks(p, in.ins[0]));  // dp and cp are 1
    return true;
  };
  expect_noticed("step reduction forgets tp", s, "run: replicas differ");
}

TEST(ModelMistakes, norm_counts_every_replica) {
  TrainingSpec s = llama(make_mesh({1, 1, 2, 2}));
  s.fault = [](RankSet& r, int p, const Instruction& in) {
    const auto* op = in.op.get_if<Relayout>();
    if (in.phase != Phase::update || !op || op->transfer != Transfer::keep_one) return false;
    r.set_blocks(p, in.outs[0], r.blocks(p, in.ins[0]));
    return true;
  };
  expect_noticed("norm counts every replica", s, "numbers");
}

TEST(ModelMistakes, one_use_of_the_tied_embedding_dropped) {
  TrainingSpec s = gpt2(make_mesh({1, 1, 2, 1}));
  s.edit_all = [](Graph& g) {  // the sum of both uses becomes the one of the head
    const auto sums = nodes_with<AddGrad>(g, [&](const AddGrad&, const Node& n) {
      const int second = g.info(n.ins[1]).node;
      return second >= 0 && g.nodes[second].op.get_if<EmbeddingGrad>();
    });
    bypass(g, sums.at(0));
  };
  expect_noticed("one use of the tied embedding dropped", s, "numbers");
}

TEST(ModelMistakes, padded_vocabulary_not_masked) {
  TrainingSpec s = llama(make_mesh({1, 1, 2, 1}));
  s.edit_forward = [](Graph& g) {
    for (Node& n : g.nodes) {
      if (n.op.get_if<VocabMax>()) n.op = VocabMax{52};
      if (n.op.get_if<VocabSums>()) n.op = VocabSums{52};
    }
  };
  expect_noticed("padded vocabulary not masked", s, "run: a padded row");
}

TEST(ModelMistakes, a_right_model_is_not_complained_about) {
  EXPECT_EQ(noticed_by(llama(make_mesh({1, 1, 2, 2}), kSp)), "");
  EXPECT_EQ(noticed_by(gpt2(make_mesh({1, 2, 2, 1}))), "");
}

}  // namespace megalith::harness
