// Compares the model's flops, counted over the graph, with Megatron's formula.
#include <gtest/gtest.h>

#include <functional>

#include "models/gpt/gpt.h"
#include "observe/peak_flops.h"
#include "step/model_size.h"

namespace megalith {
namespace {

// Megatron's num_floating_point_operations of one sequence, for dense models: 3 (forward and backward) x 2 (multiply
// and add) x sizes. The two products of attention count half, because attention is causal.
double by_formula(const ModelConfig& c) {
  const double h = double(c.hidden_size), s = double(c.seq_length), layers = double(c.num_layers);
  const double q = double(c.kv_channels * c.num_attention_heads), kv = double(c.kv_channels * c.groups());
  const double mlp = h * double(c.ffn_hidden_size) * (c.gated() ? 3 : 2);
  if (c.mla.on()) {
    const MlaConfig& m = c.mla;
    const double a = double(c.num_attention_heads), head = double(m.head()), v = double(m.v_head_dim);
    const double rank = double(m.q_lora_rank), kv_rank = double(m.kv_lora_rank), own = double(m.qk_head_dim);
    const double queries = m.q_lora_rank ? rank * (h + a * head) : h * a * head;
    const double keys = kv_rank * (h + a * (own + v)) + h * double(m.qk_pos_emb_head_dim);
    const double all = layers * (mlp + queries + keys + a * v * h) + h * double(c.padded_vocab_size);
    return 6 * s * (all + layers * s * a * (head + v) / 2);
  }
  const double products = layers * (mlp + h * (q + 2 * kv) + q * h) + h * double(c.padded_vocab_size);
  return 6 * s * (products + layers * s * q);
}

ModelConfig model_of(i64 layers, i64 hidden, i64 ffn, i64 heads, i64 groups, i64 vocab, i64 seq) {
  ModelConfig c{.num_layers = layers, .hidden_size = hidden, .ffn_hidden_size = ffn};
  c.num_attention_heads = heads, c.num_query_groups = groups, c.vocab_size = vocab, c.seq_length = seq;
  return c;
}

ModelConfig llama(ModelConfig c) {
  c.position_embedding_type = PositionEmbedding::rope, c.normalization = Normalization::rms_norm;
  c.activation = Activation::swiglu, c.add_bias_linear = false, c.untie_embeddings_and_output_weights = true;
  return c;
}

double counted(ModelConfig c) {
  c.resolve();
  EXPECT_DOUBLE_EQ(size_of(Gpt(c)).flops(), by_formula(c));
  for (const bool packed : {false, true}) {
    EXPECT_DOUBLE_EQ(size_of(Gpt(c, {.pack_qkv = packed})).flops(), by_formula(c));
  }
  EXPECT_DOUBLE_EQ(size_of(Gpt(c, {.sequence_parallel = true})).flops(), by_formula(c));
  return size_of(Gpt(c)).flops() / double(c.seq_length);
}

}  // namespace

// Llama 3 8B at s 8192. The terms were computed by hand: 45.03e9 for the matrix products and 6.44e9 for the attention
// core. The formula's publication has the same numbers.
TEST(Flops, llama3_8b) {
  ModelConfig c = llama(model_of(32, 4096, 14336, 32, 8, 128256, 8192));
  const double products =
      6.0 * (4096.0 * 14336 * 3 * 32 + 32 * (4096.0 * (4096 + 2048) + 4096.0 * 4096) + 4096.0 * 128256);
  const double core = 8192.0 * 6 * 4096 * 32;
  EXPECT_DOUBLE_EQ(counted(c), products + core);
  EXPECT_NEAR(counted(c), 51.5e9, 0.05e9);
  c.resolve();
  EXPECT_DOUBLE_EQ(size_of(Gpt(c)).attention_flops, 8192 * core);
  EXPECT_EQ(size_of(Gpt(c)).parameters(), 8030261248.0);  // the published number
}

// GPT-2 124M has no gate, no grouped heads, and a padded vocabulary. A layer has qkv 3 h h, projection h h, mlp 8 h h.
TEST(Flops, gpt2_counts_the_padded_vocabulary) {
  ModelConfig c = model_of(12, 768, 3072, 12, 12, 50257, 1024);
  c.padded_vocab_size = 50304;
  const double matrices = 12 * 12.0 * 768 * 768 + 768.0 * 50304;
  EXPECT_DOUBLE_EQ(counted(c), 6 * matrices + 12 * 6.0 * 1024 * 768);
  c.resolve();
  const ModelSize size = size_of(Gpt(c));
  EXPECT_EQ(size.parameters(), 124439808.0);  // the published number
  EXPECT_EQ(size.padding, 47.0 * 768);
  EXPECT_EQ(size.by_kind.at(ParameterKind::positions), 1024.0 * 768);
}

// DeepSeek-V3's sizes of attention and of dense layers.
TEST(Flops, multi_head_latent_attention) {
  ModelConfig c = llama(model_of(3, 7168, 18432, 128, 0, 129280, 4096));
  c.mla = {true, 1536, 512, 128, 64, 128}, c.qk_layernorm = true;
  counted(c);
  c.resolve();
  const double attention =
      7168.0 * 1536 + 1536 + 1536.0 * 128 * 192 + 7168.0 * 576 + 512 + 512.0 * 128 * 256 + 128.0 * 128 * 7168;
  EXPECT_EQ(attention, 187107328.0);
  EXPECT_EQ(size_of(Gpt(c)).parameters(), 3 * (attention + 3.0 * 7168 * 18432 + 2 * 7168) + 2.0 * 129280 * 7168 + 7168);
  c.mla.q_lora_rank = 0, c.qk_layernorm = false;
  counted(c);
}

TEST(Flops, heads_may_be_wider_than_the_model) {
  ModelConfig c = model_of(1, 8, 16, 4, 2, 10, 3);
  c.kv_channels = 4, c.padded_vocab_size = 10;
  EXPECT_DOUBLE_EQ(counted(c), 6.0 * (2 * 8 * 16 + 8 * (16 + 2 * 8) + 16 * 8 + 3 * 16 + 8 * 10));
}

// The five models of step-bench.
TEST(Flops, equal_the_formula_for_the_benchmarks_models) {
  counted(model_of(12, 768, 0, 12, 0, 50257, 1024));
  counted(model_of(24, 1024, 0, 16, 0, 50257, 1024));
  counted(model_of(48, 1600, 0, 25, 0, 50257, 1024));
  counted(llama(model_of(16, 2048, 8192, 32, 8, 128256, 4096)));
  counted(llama(model_of(8, 4096, 14336, 32, 8, 128256, 8192)));
}

// The special parts of other model families add no flops.
TEST(Flops, equal_the_formula_for_every_family) {
  const ModelConfig gpt = model_of(3, 64, 0, 4, 2, 100, 32), base = llama(gpt);
  const auto with = [](ModelConfig c, const std::function<void(ModelConfig&)>& f) {
    f(c);
    counted(c);
  };
  with(base, [](ModelConfig& c) { c.sliding_window = 8; });                                // Mistral
  with(base, [](ModelConfig& c) { c.add_qkv_bias = true, c.qk_layernorm = true; });        // Qwen 2, 3
  with(base, [](ModelConfig& c) { c.add_attention_bias = true, c.add_mlp_bias = true; });  // Llama with biases
  with(base, [](ModelConfig& c) { c.rope_scaling.kind = RopeScaling::Kind::llama3; });     // Llama 3.1
  with(base, [](ModelConfig& c) { c.norm_block_output = c.qk_layernorm = c.qk_layernorm_across_heads = true; });
  with(base, [](ModelConfig& c) {  // Gemma
    c.activation = Activation::geglu, c.apply_layernorm_1p = c.scale_embedding = true;
    c.untie_embeddings_and_output_weights = false, c.kv_channels = 32;
  });
  with(gpt, [](ModelConfig& c) { c.position_embedding_type = PositionEmbedding::alibi, c.embedding_layernorm = true; });
  with(gpt, [](ModelConfig& c) {  // GPT-NeoX, Falcon
    c.position_embedding_type = PositionEmbedding::rope, c.rotary_percent = 0.5, c.parallel_residual = true;
  });
  with(gpt, [](ModelConfig& c) {
    c.position_embedding_type = PositionEmbedding::alibi, c.parallel_residual = c.parallel_shared_norm = true;
    c.num_query_groups = 1, c.add_bias_linear = false, c.scale_alibi = true;
  });
  with(gpt, [](ModelConfig& c) { c.activation = Activation::squared_relu, c.fp32_residual_connection = true; });
}

TEST(PeakFlops, KnowsDeviceByTheDriversName) {
  EXPECT_EQ(peak_flops("NVIDIA H200", DType::bf16), 989e12);
  EXPECT_EQ(peak_flops("NVIDIA H100 80GB HBM3", DType::bf16), 989e12);
  EXPECT_EQ(peak_flops("NVIDIA H100 PCIe", DType::bf16), 756e12);
  EXPECT_EQ(peak_flops("NVIDIA A100-SXM4-80GB", DType::bf16), 312e12);
  EXPECT_FALSE(peak_flops("NVIDIA H200", DType::f32));
  EXPECT_FALSE(peak_flops("CPU", DType::bf16));
}

}  // namespace megalith
