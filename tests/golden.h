// The golden cases: what other programs make of the same model, text or data. tests/golden has small ones, made by its
// own generators; ../shared, where it stands beside the checkout, has more of the same form.
#pragma once
#include <filesystem>
#include <string>
#include <vector>

#include "tests/places.h"

namespace megalith {

inline const char* const kGoldenModels[] = {"gpt2",
                                            "llama",
                                            "llama31",
                                            "mistral_swa",
                                            "qwen2",
                                            "qwen3",
                                            "gpt_neox",
                                            "bloom_alibi",
                                            "falcon",
                                            "llama_attention_bias",
                                            "llama_mlp_bias",
                                            "qwen3_attention_bias",
                                            "gpt_neox_odd",
                                            "falcon_alibi",
                                            "falcon_alibi_32_heads",
                                            "falcon_alibi_long",
                                            "gemma",
                                            "olmo2",
                                            "deepseek_v3_dense",
                                            "deepseek_v2_dense",
                                            "deepseek_v3",
                                            "deepseek_v2",
                                            "llama_yarn",
                                            "llama_yarn_mscales",
                                            "llama_dynamic",
                                            "llama_longrope",
                                            "mixtral",
                                            "qwen2_moe",
                                            "qwen3_moe",
                                            "olmoe"};

// BERT's, of masked text.
inline const char* const kGoldenBert[] = {"bert", "bert_masked_lm", "megatron_bert"};
// Of ../shared. bert and megatron_bert have text of which the padding is a part; see tests/cli/golden_test.cpp.
inline const char* const kSharedBert[] = {"bert", "megatron_bert", "megatron_bert_strong"};
inline const char* const kSharedEncoders[] = {"bert", "bert_plain"};  // by Megatron Core
// Encoder-decoders.
inline const char* const kGoldenT5[] = {"t5_v10", "t5_v11"};

// Made by Megatron Core. Of ../shared only those that ask for nothing that is not built.
inline const char* const kGoldenMegatron[] = {"megatron_llama", "megatron_gpt", "megatron_mtp"};
inline const std::vector<std::string> kSharedMegatron = {"deepseek_v3",
                                                         "mla",
                                                         "mla_no_norms",
                                                         "mla_no_q_lora",
                                                         "mla_yarn",
                                                         "moe_aux_loss",
                                                         "moe_aux_z_loss_all_layers",
                                                         "moe_capacity_padded",
                                                         "moe_capacity_position",
                                                         "moe_capacity_probs",
                                                         "moe_gelu_bias_layernorm",
                                                         "moe_global_aux_loss",
                                                         "moe_group_limited",
                                                         "moe_group_limited_pre_softmax",
                                                         "moe_mtp1_aux",
                                                         "moe_plain",
                                                         "moe_pre_softmax",
                                                         "moe_seq_aux_loss",
                                                         "moe_shared_expert",
                                                         "moe_shared_expert_gate",
                                                         "moe_sigmoid",
                                                         "moe_sigmoid_bias",
                                                         "moe_sigmoid_bias_seq_aux",
                                                         "moe_sinkhorn",
                                                         "moe_sinkhorn_top1",
                                                         "moe_sqrtsoftplus",
                                                         "moe_three_aux_losses",
                                                         "moe_top1",
                                                         "moe_top1_probs_on_input",
                                                         "moe_z_loss",
                                                         "mtp1",
                                                         "mtp1_tied",
                                                         "mtp2"};

// Of these a token's experts are chosen by comparing numbers: where two are nearly equal, other roundings make another
// choice, and another result.
inline bool chooses_experts(const std::string& model) {
  return model == "mixtral" || model == "qwen2_moe" || model == "qwen3_moe" || model == "olmoe" ||
         model == "deepseek_v2" || model == "deepseek_v3";
}

inline std::string golden(const std::string& name) { return std::string(kSourceDir) + "/tests/golden/" + name; }
inline std::string shared_model(const std::string& name) { return std::string(kSharedDir) + "/fixtures/hf/" + name; }
inline std::string shared_megatron(const std::string& name) {
  return std::string(kSharedDir) + "/fixtures/megatron/" + name;
}
inline std::string shared_vectors(const std::string& file) {
  return std::string(kSharedDir) + "/formats/vectors/" + file;
}

// The tree's, then that of ../shared if it is there.
inline std::vector<std::string> with_shared(const std::string& tree, const std::string& shared) {
  std::vector<std::string> all = {tree};
  if (std::filesystem::exists(shared)) all.push_back(shared);
  return all;
}

// Directories of one family's model.
inline std::vector<std::string> golden_models(const std::string& family) {
  return with_shared(golden(family), shared_model(family));
}

// Files of vectors with one name.
inline std::vector<std::string> golden_vectors(const std::string& file) {
  return with_shared(golden("vectors/" + file), shared_vectors(file));
}

// Checkpoints that Megatron Core wrote, of two tensor-parallel ranks.
inline std::vector<std::string> golden_torch_dist() {
  return with_shared(golden("torch_dist_example"), shared_vectors("torch_dist_example"));
}

}  // namespace megalith
