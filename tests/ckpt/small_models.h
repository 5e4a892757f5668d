// Generates small Hugging Face model directories: tests with them need no other files.
#pragma once
#include <numeric>

#include "ckpt/hf/hf_config.h"
#include "ckpt/hf/hf_mapping.h"
#include "ckpt/tensors/safetensors.h"
#include "tests/ckpt/helpers.h"

namespace megalith {

inline constexpr const char* kSmallLlama =
    R"({"model_type":"llama","hidden_size":8,"intermediate_size":12,"num_hidden_layers":2,"num_attention_heads":4,
        "num_key_value_heads":2,"vocab_size":5,"tie_word_embeddings":false})";
inline constexpr const char* kSmallNeox =
    R"({"model_type":"gpt_neox","hidden_size":8,"intermediate_size":32,"num_hidden_layers":2,"num_attention_heads":2,
        "vocab_size":5,"max_position_embeddings":16})";
inline constexpr const char* kSmallBloom =
    R"({"model_type":"bloom","hidden_size":8,"n_layer":2,"n_head":2,"vocab_size":5})";

struct Stored {
  TensorSpec spec;
  std::vector<std::byte> bytes;
};

inline void write_model(const std::string& dir, const std::string& config, const std::vector<Stored>& tensors) {
  fs::create_directories(dir);
  spit(dir + "/config.json", config);
  std::vector<TensorSpec> specs;
  for (const Stored& t : tensors) specs.push_back(t.spec);
  SafetensorsWriter writer(dir + "/model.safetensors", specs);
  for (const TensorSpec& spec : writer.tensors())
    for (const Stored& t : tensors)
      if (t.spec.name == spec.name) writer.write(t.bytes);
  writer.finish();
}

// f32 tensors of such a model, by Hugging Face's names; all numbers differ.
inline std::vector<Stored> small_tensors(const char* config) {
  const HfConfig c = parse_hf_config(config, "small model");
  std::vector<Stored> out;
  float next = 1;
  for (const NamedShape& t : hf_mapping(*c.family, c.model).theirs) {
    std::vector<float> values(std::size_t(count(t.shape)));
    for (float& x : values) x = (next += 1) / 1024;
    const auto bytes = std::as_bytes(std::span(values));
    out.push_back({{t.name, DType::f32, t.shape}, {bytes.begin(), bytes.end()}});
  }
  return out;
}

// A complete config.json for it.
inline std::string small_config(const char* config) { return write_hf_config(parse_hf_config(config, "small model")); }

}  // namespace megalith
