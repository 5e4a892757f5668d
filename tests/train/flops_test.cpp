#include "step/flops.h"

#include <gtest/gtest.h>

#include "observe/peak_flops.h"

namespace megalith {

// Llama 3 8B at s 8192, each term by hand: 45.03e9 for the matrix products and 6.44e9 for attention's core, as
// published with the formula.
TEST(Flops, llama3_8b) {
  const ModelConfig c{.num_layers = 32,
                      .hidden_size = 4096,
                      .ffn_hidden_size = 14336,
                      .num_attention_heads = 32,
                      .num_query_groups = 8,
                      .kv_channels = 128,
                      .seq_length = 8192,
                      .vocab_size = 128256,
                      .padded_vocab_size = 128256,
                      .activation = Activation::swiglu};
  const double products =
      6.0 * (4096.0 * 14336 * 3 * 32 + 32 * (4096.0 * (4096 + 2048) + 4096.0 * 4096) + 4096.0 * 128256);
  const double core = 8192.0 * 6 * 4096 * 32;
  EXPECT_DOUBLE_EQ(flops_per_token(c), products + core);
  EXPECT_NEAR(flops_per_token(c), 51.5e9, 0.05e9);
  EXPECT_DOUBLE_EQ(attention_flops_per_token(c), core);
  EXPECT_DOUBLE_EQ(flops_per_iteration(c, 3), 3 * 8192 * flops_per_token(c));
}

// GPT-2 124M: no gate, heads of their own, padded vocabulary. 6 (12 (8 h h + 4 h h... as sums of its matrices) + h V) +
// core.
TEST(Flops, gpt2_counts_the_padded_vocabulary) {
  const ModelConfig c{.num_layers = 12,
                      .hidden_size = 768,
                      .ffn_hidden_size = 3072,
                      .num_attention_heads = 12,
                      .num_query_groups = 12,
                      .kv_channels = 64,
                      .seq_length = 1024,
                      .vocab_size = 50257,
                      .padded_vocab_size = 50304};
  const double matrices = 12 * 12.0 * 768 * 768 + 768.0 * 50304;  // qkv 3 h h, projection h h, mlp 8 h h a layer
  EXPECT_DOUBLE_EQ(flops_per_token(c), 6 * matrices + 12 * 6.0 * 1024 * 768);
}

TEST(Flops, heads_may_be_wider_than_the_model) {
  const ModelConfig c{.num_layers = 1,
                      .hidden_size = 8,
                      .ffn_hidden_size = 16,
                      .num_attention_heads = 4,
                      .num_query_groups = 2,
                      .kv_channels = 4,
                      .seq_length = 3,
                      .vocab_size = 10,
                      .padded_vocab_size = 10};
  EXPECT_DOUBLE_EQ(flops_per_token(c), 6.0 * (2 * 8 * 16 + 8 * (16 + 2 * 8) + 16 * 8 + 3 * 16 + 8 * 10));
}

TEST(Flops, per_device) { EXPECT_DOUBLE_EQ(tflops_per_device(6e12, 2, 3), 1); }

TEST(PeakFlops, KnowsDeviceByTheDriversName) {
  EXPECT_EQ(peak_flops("NVIDIA H200", DType::bf16), 989e12);
  EXPECT_EQ(peak_flops("NVIDIA H100 80GB HBM3", DType::bf16), 989e12);
  EXPECT_EQ(peak_flops("NVIDIA H100 PCIe", DType::bf16), 756e12);
  EXPECT_EQ(peak_flops("NVIDIA A100-SXM4-80GB", DType::bf16), 312e12);
  EXPECT_FALSE(peak_flops("NVIDIA H200", DType::f32));
  EXPECT_FALSE(peak_flops("CPU", DType::bf16));
}

}  // namespace megalith
