// Tests of the values that each module of the models keeps for the backward.
#include "passes/kept_values.h"

#include <gtest/gtest.h>

#include "offloaded_graph.h"

namespace megalith {

namespace {

// Kept elements per layer and token. The last layer is excluded, because its values stay on the device.
std::map<std::string, i64> kept_by_module(const ModelConfig& model) {
  constexpr i64 kRow = kTokens * 2, kLayers = 3;
  std::map<std::string, i64> out;
  for (const std::string_view module : kOffloadModules) {
    Graph g = trained(model, kLayers);
    const OffloadReport r = offload_activations(g, of({std::string(module)}));
    verify(g);
    EXPECT_LE(r.bytes.size(), 1u);
    if (total(r) > 0) out[std::string(module)] = total(r) / (kLayers - 1) / kRow;
  }
  return out;
}

}  // namespace

// Attention keeps queries, keys, values and its result. Gradients recompute the results of norms and activations.
TEST(KeptValues, modules_keep_what_their_gradients_read) {
  const std::map<std::string, i64> of_gpt2 = {{"attn_norm", kHidden},
                                              {"core_attn", 4 * kHidden},
                                              {"attn_proj", kHidden},
                                              {"mlp_norm", kHidden},
                                              {"mlp_act", kFfn}};
  std::map<std::string, i64> of_gated = of_gpt2;
  of_gated["mlp_act"] = 2 * kFfn;
  EXPECT_EQ(kept_by_module(gpt2()), of_gpt2);
  EXPECT_EQ(kept_by_module(llama()), of_gated);
  ModelConfig gemma = llama();
  gemma.activation = Activation::geglu, gemma.apply_layernorm_1p = gemma.scale_embedding = true;
  EXPECT_EQ(kept_by_module(gemma), of_gated);
}

// The norm of each query and key head belongs to the module of the projection, as in Megatron.
TEST(KeptValues, norms_of_queries_and_keys_are_of_the_product) {
  ModelConfig qwen = llama();
  qwen.qk_layernorm = true;
  std::map<std::string, i64> want = kept_by_module(llama());
  want["qkv_linear"] = 2 * kHidden;
  EXPECT_EQ(kept_by_module(qwen), want);
}

// The products read the residual stream itself. The norm of each module reads the output of its block.
TEST(KeptValues, norms_behind_the_blocks_are_of_their_parts) {
  ModelConfig olmo2 = llama();
  olmo2.norm_block_output = olmo2.qk_layernorm = olmo2.qk_layernorm_across_heads = true;
  const std::map<std::string, i64> want = {
      {"attn_norm", kHidden}, {"qkv_linear", 3 * kHidden}, {"core_attn", 4 * kHidden}, {"attn_proj", kHidden},
      {"mlp_norm", kHidden},  {"mlp_fc1", kHidden},        {"mlp_act", 2 * kFfn}};
  EXPECT_EQ(kept_by_module(olmo2), want);
}

// Attention and the MLP read the same value. With two norms both modules keep it. With one norm it belongs to
// attention.
TEST(KeptValues, parallel_parts_keep_one_value) {
  ModelConfig neox = gpt2(), falcon = gpt2();
  neox.parallel_residual = falcon.parallel_residual = falcon.parallel_shared_norm = true;
  std::map<std::string, i64> want = kept_by_module(gpt2());
  EXPECT_EQ(kept_by_module(neox), want);
  want.erase("mlp_norm");
  EXPECT_EQ(kept_by_module(falcon), want);
}

}  // namespace megalith
