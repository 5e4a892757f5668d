// Texts of config.json for tests: a small llama, and the same as another family.
#pragma once
#include <nlohmann/json.hpp>

#include "ckpt/hf/hf_config.h"
#include "tests/ckpt/helpers.h"

namespace megalith {

using nlohmann::json;

inline HfConfig parse(const json& j) { return parse_hf_config(j.dump(), "config.json"); }

inline const json kLlama = {{"architectures", {"LlamaForCausalLM"}},
                            {"hidden_size", 64},
                            {"intermediate_size", 176},
                            {"num_hidden_layers", 2},
                            {"num_attention_heads", 4},
                            {"num_key_value_heads", 2},
                            {"vocab_size", 160},
                            {"rms_norm_eps", 1e-5},
                            {"max_position_embeddings", 256}};

inline json changed(json j, const std::string& key, const json& value) {
  j[key] = value;
  return j;
}
inline json family(const std::string& type) {
  json j = kLlama;
  j.erase("architectures");
  return changed(j, "model_type", type);
}

}  // namespace megalith
