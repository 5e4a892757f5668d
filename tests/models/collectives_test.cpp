// What each layer sends, counted from the graph, against the list written down from Megatron-LM's and Transformer
// Engine's sources: kind, axes, elements of the larger side on one rank, and how often.
#include <gtest/gtest.h>

#include <chrono>
#include <iostream>
#include <map>

#include "tests/models/settings.h"

namespace megalith::harness {

namespace {

using Counts = std::map<std::string, int>;

// tp is the pair of its two axes where both are used.
std::string axes_name(const Mesh& mesh, AxisSet axes) {
  return groups::tensor.has(mesh.used(axes)) ? "tp" : to_string(mesh.used(axes), mesh.used());
}

Counts counted(const Graph& g) {
  Counts out;
  for (const Node& n : g.nodes) {
    const auto* r = n.op.get_if<Relayout>();
    if (!r || is_local(r->transfer) || g.mesh.n(r->axes) == 1 || n.phase == Phase::update) continue;
    const i64 elements =
        std::max(local_type(g.mesh, g.type(n.ins[0])).elements(), local_type(g.mesh, g.type(n.outs[0])).elements());
    ++out[fmt::format("{}, {}: {} over {} of {}", name_of(n.phase), to_string(n.origin), name_of(r->transfer),
                      axes_name(g.mesh, r->axes), elements)];
  }
  return out;
}

// What one micro-batch should send.
class Expected {
 public:
  Expected(const TrainingSpec& spec, i64 batch) : c_(spec.model), style_(spec.style), mesh_(spec.mesh) {
    tp_ = mesh_.n(groups::tensor), cp_ = mesh_.n(groups::context);
    mb_ = batch / mesh_.n(groups::data), tokens_ = c_.seq_length / cp_ * mb_, activation_ = tokens_ * c_.hidden_size;
    leave("embedding");
    for (i64 i = 0; i < c_.num_layers; ++i) layer(fmt::format("layer {} ", i));
    enter("head", "head");
    put("forward", "loss", "all_reduce_max", tp_, "tp", tokens_);
    put("forward", "loss", "all_reduce", tp_, "tp", 2 * tokens_);
  }
  Counts counts;

 private:
  void put(const char* phase, const std::string& tag, const char* kind, int n, const char* axes, i64 elements,
           int times = 1) {
    if (n > 1) counts[fmt::format("{}, {}: {} over {} of {}", phase, tag, kind, axes, elements)] += times;
  }
  // Into a column-parallel linear: under SP the input is gathered again for the weight gradients, where the last
  // linear's backward begins.
  void enter(const std::string& tag, const std::string& last) {
    if (style_.sequence_parallel) {
      put("forward", tag, "all_gather", tp_, "tp", activation_);
      put("backward", last, "all_gather", tp_, "tp", activation_);
    }
    put("backward", tag, style_.sequence_parallel ? "reduce_scatter" : "all_reduce", tp_, "tp", activation_);
  }
  void leave(const std::string& tag) {
    put("forward", tag, style_.sequence_parallel ? "reduce_scatter" : "all_reduce", tp_, "tp", activation_);
    if (style_.sequence_parallel) put("backward", tag, "all_gather", tp_, "tp", activation_);
  }
  void layer(const std::string& tag) {
    const std::string attention = tag + "attention", mlp = tag + "mlp";
    enter(attention, c_.parallel_residual ? mlp : attention);
    if (!c_.parallel_residual) leave(attention), enter(mlp, mlp);
    leave(mlp);
    const i64 kv = mb_ * c_.seq_length * c_.groups() / mesh_.n(groups::kv_heads) * c_.kv_channels;
    if (!style_.cp_all_to_all) {
      put("forward", attention, "all_gather", cp_, "cp", kv, 2);
      put("backward", attention, "all_gather", cp_, "cp", kv, 2);
      put("backward", attention, "reduce_scatter", cp_, "cp", kv, 2);
      return;
    }
    for (const char* phase : {"forward", "backward"}) {
      put(phase, attention, "all_to_all", cp_, "cp", kv / cp_, 2);
      put(phase, attention, "all_to_all", cp_, "cp", tokens_ * c_.num_attention_heads * c_.kv_channels / tp_, 2);
    }
  }

  const ModelConfig& c_;
  const ParallelStyle& style_;
  const Mesh& mesh_;
  int tp_, cp_;
  i64 mb_, tokens_, activation_;
};

}  // namespace

TEST(Collectives, equal_megatrons_list) {
  int compared = 0;
  for (const Setting& s : settings()) {
    const bool two_norms = s.spec.model.parallel_residual && !s.spec.model.parallel_shared_norm;
    const bool across_heads = s.spec.model.qk_layernorm_across_heads;
    const bool mixture = s.spec.model.moe.num_experts > 0, latent = s.spec.model.mla.on();
    if (s.spec.model.architecture != Architecture::gpt || two_norms || across_heads || mixture || latent ||
        s.spec.model.mtp.modules() > 0 || s.spec.documents || !s.spec.regather)
      continue;  // not on the list
    EXPECT_EQ(counted(build_training(s.spec).g), Expected(s.spec, 8 / s.spec.micro_batches).counts) << s.name;
    ++compared;
  }
  EXPECT_GE(compared, 25);
}

// Tokens, weights and choices to the experts, and sums back; in the backward the duals, and the tokens again.
TEST(Collectives, of_a_mixture_do_not_depend_on_the_routing) {
  const TrainingSpec s{.model = mixture(), .mesh = make_mesh({.dp = 2, .ep = 2}), .micro_batches = 2};
  const i64 tokens = s.model.seq_length * 4, x = tokens * s.model.hidden_size, p = tokens * s.model.moe.router_topk;
  Counts of_layer;
  for (const auto& [what, times] : counted(build_training(s).g))
    if (what.find("layer 1 moe:") != std::string::npos) of_layer[what] = times;
  const auto name = [](const char* phase, const char* kind, i64 elements) {
    return fmt::format("{}, layer 1 moe: {} over dp of {}", phase, kind, elements);
  };
  EXPECT_EQ(of_layer, (Counts{{name("forward", "all_gather", x), 1},
                              {name("forward", "all_gather", p), 2},
                              {name("forward", "reduce_scatter", x), 1},
                              {name("backward", "all_gather", x), 2},
                              {name("backward", "reduce_scatter", x), 1},
                              {name("backward", "reduce_scatter", p), 1}}));
}

TEST(Collectives, keeping_gathered_inputs_saves_the_second_gather) {
  auto gathers = [](bool regather) {
    TrainingSpec s{.model = llama_like(), .mesh = make_mesh({1, 1, 2, 2}), .style = {true}, .regather = regather};
    int n = 0;
    for (const auto& [what, times] : counted(build_training(s).g))
      if (what.starts_with("backward") && what.find("all_gather") != std::string::npos) n += times;
    return n;
  };
  EXPECT_EQ(gathers(true),
            10);  // 2 layers x 2 halves and the head: the input again; 4 row-parallel linears and the embedding: dy
  EXPECT_EQ(gathers(false), 5);
}

// Only types, without ranks: 80 layers on 1024.
TEST(Collectives, of_a_large_model_are_known_at_once) {
  TrainingSpec s{.model = llama_like(), .mesh = make_mesh({16, 8, 8, 1}), .style = {true, Order::zigzag, false}};
  ModelConfig& c = s.model;
  c.num_layers = 80, c.hidden_size = 8192, c.ffn_hidden_size = 28672, c.num_attention_heads = 64,
  c.num_query_groups = 8;
  c.kv_channels = 128, c.seq_length = 8192, c.vocab_size = 128000, c.padded_vocab_size = 128256;
  s.samples = 16;
  const auto start = std::chrono::steady_clock::now();
  const Graph g = build_training(s).g;
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  std::cout << fmt::format("{} nodes typed and verified in {:.2f} s\n", g.nodes.size(), seconds);
  EXPECT_EQ(counted(g), Expected(s, 16).counts);
  EXPECT_LT(seconds, 5);
}

// The step: one reduction a parameter over the axes where it is Copy, two sums over dp and cp. One number is summed
// over all ranks.
TEST(Collectives, the_step_reduces_each_gradient_once) {
  TrainingSpec spec{.model = llama_like(), .mesh = make_mesh({2, 2, 2, 2}), .style = {true}};
  spec.model.qk_layernorm = true;
  const TrainingGraph t = build_training(spec);
  std::map<std::string, int> by_axes;
  for (const Node& n : t.g.nodes)
    if (const auto* r = n.op.get_if<Relayout>(); r && n.phase == Phase::update && !is_local(r->transfer)) {
      EXPECT_EQ(r->transfer, Transfer::all_reduce);
      ++by_axes[to_string(r->axes)];
    }
  // Per layer: q, projection, fc1, fc2 over dp and cp; k and v over tp_rep too; two norms and two head norms over tp
  // too. Beside them two vocabulary matrices, the last norm, the loss and the tokens; and the norm over everything.
  EXPECT_EQ(by_axes, (std::map<std::string, int>{{"dp cp", 2 * 4 + 2 + 2},
                                                 {"dp cp tp_rep", 2 * 2},
                                                 {"dp cp tp_kv tp_rep", 2 * 4 + 1},
                                                 {"pp dp cp tp_kv tp_rep", 1}}));
}

}  // namespace megalith::harness
