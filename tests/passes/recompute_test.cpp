// Tests of recomputation: the bytes that it keeps from the forward, and the nodes that run again.
#include "passes/recompute.h"

#include <gtest/gtest.h>

#include "models/gpt/gpt.h"
#include "ops/all.h"
#include "optim/update.h"
#include "passes/gradients.h"
#include "plan/plan.h"

namespace megalith {

namespace {

using Granularity = RecomputeConfig::Granularity;
using Method = RecomputeConfig::Method;

constexpr i64 kSeq = 8, kBatch = 2, kWidthOfModel = 16, kWidthOfMlp = 24, kHeads = 4, kGroups = 2, kWidth = 4;
constexpr i64 kRow = kSeq * kBatch * 4;  // bytes of one f32 number per token

Graph llama_graph(i64 layers, const RecomputeConfig& recompute, const std::set<std::string>& off = {}) {
  ModelConfig c;
  c.num_layers = layers, c.hidden_size = kWidthOfModel, c.ffn_hidden_size = kWidthOfMlp;
  c.num_attention_heads = kHeads, c.num_query_groups = kGroups, c.kv_channels = kWidth;
  c.seq_length = c.max_position_embeddings = kSeq, c.vocab_size = 50, c.padded_vocab_size = 52;
  c.position_embedding_type = PositionEmbedding::rope, c.normalization = Normalization::rms_norm;
  c.activation = Activation::swiglu, c.add_bias_linear = false, c.untie_embeddings_and_output_weights = true;
  Graph g;
  g.mesh = make_mesh({});
  Builder b(g);
  BuildMode mode;
  mode.batch = kBatch;
  const Built gpt = Gpt(c).build_whole(b, mode);
  const Accumulators acc = add_gradients(b, gpt.parameters, gpt.terms);
  add_update(b, gpt.parameters, {acc.gradients, acc.loss.sum, acc.loss.weight}, {});
  run_passes(g, standard_passes(), off);
  run_passes(g, {recompute_pass(recompute)});
  return g;
}

// Bytes that the forward keeps for the backward.
i64 kept(const Graph& g, bool aligned = false) {
  std::set<Value> values;
  for (const Node& n : g.nodes)
    for (Value v : n.ins)
      if (n.phase == Phase::backward && g.info(v).node >= 0 && g.nodes[g.info(v).node].phase == Phase::forward)
        values.insert(v);
  i64 bytes = 0;
  for (Value v : values) bytes += aligned ? align_up(g.type(v).bytes()) : g.type(v).bytes();
  return bytes;
}
i64 kept(i64 layers, const RecomputeConfig& r, const std::set<std::string>& off = {}) {
  return kept(llama_graph(layers, r, off));
}

i64 arena(i64 layers, const RecomputeConfig& r) {
  const Graph g = llama_graph(layers, r);
  return plan_memory(g.mesh, {{"all", &g, {Phase::forward, Phase::backward}}}, [](auto&, auto&) { return 0; })
      .programs[0]
      .activation_bytes;
}

RecomputeConfig full(Method method, i64 layers) { return {Granularity::full, method, layers, {}}; }
RecomputeConfig only(std::vector<std::string> modules) {
  return {Granularity::selective, Method::none, 0, std::move(modules)};
}

// A layer has its input, the norms' results, q, k, v, o, the residual between, gate, up and their product. It also has
// the statistics of two norms and of attention. Gradients rematerialize the norms' results and the product of gate and
// up, so these are not kept.
constexpr i64 kInput = kWidthOfModel * kRow, kMlp = 2 * kWidthOfMlp * kRow, kNorms = 2 * kRow;
constexpr i64 kLayer = kInput + kMlp + kNorms + (3 * kWidthOfModel + 2 * kGroups * kWidth + kHeads) * kRow;
constexpr i64 kRemade = (2 * kWidthOfModel + kWidthOfMlp) * kRow;

}  // namespace

TEST(Recompute, a_layer_keeps_what_the_formula_says) {
  EXPECT_EQ(kept(4, {}) - kept(3, {}), kLayer);
  EXPECT_EQ(kept(4, only({"core_attn"})) - kept(3, only({"core_attn"})), kLayer);
  const i64 result = kWidthOfModel * kRow;  // of the norm before the MLP, where recomputation starts
  EXPECT_EQ(kept(4, only({"mlp"})) - kept(3, only({"mlp"})), kLayer - kMlp + result);
  EXPECT_EQ(kept(4, only({"layernorm"})) - kept(3, only({"layernorm"})), kLayer);  // no node reads them
  EXPECT_EQ(kept(4, full(Method::uniform, 1)) - kept(3, full(Method::uniform, 1)), kInput);
}

TEST(Recompute, without_remaking_a_layer_keeps_more) {
  const std::set<std::string> off = {"rematerialize"};
  const auto each = [&](const RecomputeConfig& r) { return kept(4, r, off) - kept(3, r, off); };
  const i64 mlp = kMlp + kWidthOfMlp * kRow, norms = kNorms + 2 * kWidthOfModel * kRow;
  EXPECT_EQ(each({}), kLayer + kRemade);
  EXPECT_EQ(each(only({"mlp"})), kLayer + kRemade - mlp);
  EXPECT_EQ(each(only({"layernorm"})), kLayer + kRemade - norms);
  EXPECT_EQ(each(only({"mlp", "layernorm"})), kLayer + kRemade - mlp - norms);
  EXPECT_EQ(each(full(Method::uniform, 1)), kInput);
}

TEST(Recompute, chunks_and_blocks_of_layers) {
  const i64 around = kept(4, {}) - 4 * kLayer;  // embedding, head and loss
  EXPECT_EQ(kept(4, full(Method::uniform, 1)) - around, 4 * kInput);
  EXPECT_EQ(kept(4, full(Method::uniform, 2)) - around, 2 * kInput);
  EXPECT_EQ(kept(5, full(Method::uniform, 2)) - around, 3 * kInput);
  EXPECT_EQ(kept(4, full(Method::uniform, 4)) - around, kInput);
  for (i64 n : {1, 3, 4}) EXPECT_EQ(kept(4, full(Method::block, n)) - around, n * kInput + (4 - n) * kLayer);
}

TEST(Recompute, the_arena_falls_with_it) {
  for (const RecomputeConfig& r : {RecomputeConfig{}, full(Method::uniform, 1), only({"mlp", "layernorm"})}) {
    const i64 each = kept(llama_graph(12, r), true) - kept(llama_graph(11, r), true);
    EXPECT_NEAR(double(arena(12, r) - arena(8, r)), 4.0 * double(each), 0.15 * double(kLayer));  // gaps between buffers
  }
}

TEST(Recompute, does_no_more_again_than_the_backward_reads) {
  const Graph g = llama_graph(3, full(Method::uniform, 1));
  std::map<std::string, int> again;
  for (const Node& n : g.nodes)
    if (n.origin.recomputed) {
      ++again[std::string(n.op.name())];
      EXPECT_EQ(n.phase, Phase::backward);
    }
  // A layer has six products. The last one's result is not needed, because its sum is the next layer's input, which is
  // kept. The gradient of SwiGLU recomputes the result of SwiGLU.
  EXPECT_EQ(again["einsum"], 3 * 5);
  EXPECT_EQ(again["attention"], 3);
  EXPECT_EQ(again["rms_norm"], 3 * 2);
  EXPECT_EQ(again["rope"], 3 * 2);
  EXPECT_EQ(again.size(), 4u);
}

TEST(Recompute, stands_right_before_its_first_use) {
  const Graph g = llama_graph(3, only({"mlp", "layernorm"}));
  for (size_t i = 0; i < g.nodes.size(); ++i) {
    if (!g.nodes[i].origin.recomputed || g.nodes[i + 1].origin.recomputed) continue;
    bool read = false;
    for (Value v : g.nodes[i + 1].ins) {
      const int from = g.info(v).node;
      read |= from >= 0 && g.nodes[from].origin.recomputed;
    }
    EXPECT_TRUE(read) << print(g, g.nodes[i]);
  }
}

TEST(Recompute, nothing_is_asked_nothing_is_done) {
  const Graph plain = llama_graph(2, {}), attention = llama_graph(2, only({"core_attn"}));
  EXPECT_EQ(print(plain), print(attention));
}

}  // namespace megalith
