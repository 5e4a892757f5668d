// The description of a family of Hugging Face models. Each family's file defines one; families.def lists them all.
#pragma once
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <span>
#include <string_view>

#include "models/config.h"

namespace megalith {

class JsonFields;

// The family's names of weights, without ".weight" and ".bias"; the defaults are llama's. "": no such weight.
struct HfNames {
  std::string_view prefix = "model.";  // some files leave it out
  std::string_view head = "lm_head";   // has no prefix
  std::string_view embedding = "embed_tokens", positions = "", embedding_norm = "", final_norm = "norm";
  std::string_view layers = "layers.";
  // In a layer, after "layers.N.".
  std::string_view input_norm = "input_layernorm", mlp_norm = "post_attention_layernorm";
  std::string_view attention_output_norm = "", mlp_output_norm = "";  // for norms after the blocks
  std::string_view qkv = "";                                          // one weight, or three
  std::string_view q = "self_attn.q_proj", k = "self_attn.k_proj", v = "self_attn.v_proj";
  std::string_view q_norm = "self_attn.q_norm", k_norm = "self_attn.k_norm", proj = "self_attn.o_proj";
  std::string_view gate = "mlp.gate_proj", up = "mlp.up_proj";  // where the MLP is gated; else fc1
  std::string_view fc1 = "", fc2 = "mlp.down_proj";
  // In a mixture; in each expert, after "layers.N.EXPERTS.E.". Fused: one tensor for all experts' gates and ups, as
  // transformers 5 has them in memory.
  std::string_view router = "mlp.gate", experts = "mlp.experts.";
  std::string_view expert_gate = "gate_proj", expert_up = "up_proj", expert_fc2 = "down_proj";
  std::string_view shared_expert = "mlp.shared_expert.", shared_gate = "mlp.shared_expert_gate";
  std::string_view router_bias = "mlp.gate.e_score_correction_bias";  // of the choice alone
  bool fused_experts = false;
  // Modules of multi-token prediction, numbered after the layers; their norms, and the projection of [embedding,
  // stream]. "": the family has none.
  std::string_view embedding_input_norm = "", stream_input_norm = "", input_projection = "", module_output_norm = "";
  // Of multi-head latent attention; q: where queries have no latent.
  std::string_view q_a = "self_attn.q_a_proj", q_a_norm = "self_attn.q_a_layernorm", q_b = "self_attn.q_b_proj";
  std::string_view kv_a = "self_attn.kv_a_proj_with_mqa", kv_a_norm = "self_attn.kv_a_layernorm";
  std::string_view kv_b = "self_attn.kv_b_proj";
  // BERT's: token types, the dense layer and the norm of its head. `head_bias` has the logits' bias.
  std::string_view token_types = "", head_dense = "", head_norm = "", head_bias = "", pooler = "", binary_head = "";
  bool transposed = false;  // Conv1D: matrices are columns x rows, and qkv has all queries, all keys, all values
};

// Token ids of its configuration class, where config.json has no such key.
struct HfClassIds {
  std::optional<i64> bos = {}, eos = {}, pad = {};
};

struct HfFamily {
  std::string_view name;                     // model_type, e.g. "gpt_neox"
  std::string_view architecture;             // the class with a head, e.g. "GPTNeoXForCausalLM"
  std::string_view other_architecture = "";  // another class of the family that is read, "BertForMaskedLM"
  HfClassIds ids = {};
  Architecture kind = Architecture::gpt;  // what its models are
  // config.json -> model, and back. Sizes of the vocabulary, ids and types are read and written for all families alike.
  void (*read)(const JsonFields& f, ModelConfig& m) = nullptr;
  void (*write)(const ModelConfig& m, nlohmann::ordered_json& j) = nullptr;
  HfNames (*names)(const ModelConfig& m) = [](const ModelConfig&) { return HfNames{}; };
};

std::span<const HfFamily* const> hf_families();
const HfFamily& hf_family(std::string_view model_type);  // Error that lists ours

}  // namespace megalith
