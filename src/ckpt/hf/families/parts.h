// Shared code of families for reading and writing a config.json.
#pragma once
#include <nlohmann/json.hpp>

#include "ckpt/hf/families/family.h"
#include "ckpt/tensors/json_fields.h"

namespace megalith {

// One of the names of GELU, exact or by tanh.
Activation read_activation(const JsonFields& f, const char* key, const std::string& fallback);
std::string_view gelu_name(Activation a);

// Head counts and widths. Most families have neither KV head counts nor a separate head width.
void read_heads(const JsonFields& f, ModelConfig& m, i64 groups, std::optional<i64> head_width = {});

// The top-level keys of rotary settings, and the defaults if no key is present.
struct RopeKeys {
  const char* base = "rope_theta";
  const char* part = "partial_rotary_factor";
  double default_part = 1;
  bool may_turn_part = false;  // of each head
  double default_base = 10000;
};
// Each setting has several possible keys. The precedence is that of transformers 5: rope_scaling if it is not empty,
// then rope_parameters, then the top-level keys.
void read_rope(const JsonFields& f, ModelConfig& m, const RopeKeys& keys = {});
nlohmann::ordered_json rope_scaling(const ModelConfig& m);

// Llama and its descendants, where their classes differ in what an absent key means.
struct LlamaDefaults {
  i64 groups = 0;  // key-value heads; 0, and where the key is null: one for each head
  std::optional<i64> head_width = {};
  i64 max_position_embeddings = 2048;
  double norm_epsilon = 1e-6;
  bool untied = true;
};
void read_llama_like(const JsonFields& f, ModelConfig& m, const LlamaDefaults& defaults);
void require_silu(const JsonFields& f);
void write_llama_like(const ModelConfig& m, nlohmann::ordered_json& j);

// BERT's settings, with norms after the blocks and without.
void read_bert(const JsonFields& f, ModelConfig& m, bool post_norm);
void write_bert(const ModelConfig& m, nlohmann::ordered_json& j);
HfNames bert_names(const ModelConfig& m);

// Experts of a descendant of qwen2_moe, where its class has these for absent keys.
struct ExpertDefaults {
  i64 experts = 0, topk = 0, width = 0;
};
void read_experts(const JsonFields& f, ModelConfig& m, const ExpertDefaults& defaults);
void write_experts(const ModelConfig& m, nlohmann::ordered_json& j);

// Sliding windows of a descendant of llama, which may have several keys for them; 0: none. Error if its layers do not
// agree. Mistral's classes have no switch for it.
i64 read_switched_window(const JsonFields& f, i64 layers);
i64 read_window(const JsonFields& f, i64 layers);
void write_switched_window(const ModelConfig& m, nlohmann::ordered_json& j);

}  // namespace megalith
