// A Hugging Face config.json, both ways. Reading refuses, by name and value, every setting that our model does not
// have; writing reads its own result back, and refuses settings that would be lost. So an exported model is never
// silently a different one.
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ckpt/hf/families/family.h"
#include "ckpt/hf/fp8_weights.h"
#include "models/config.h"

namespace megalith {

struct HfConfig {
  const HfFamily* family = nullptr;
  ModelConfig model;               // resolved; seq_length = max_position_embeddings; padded_vocab_size 0
  DType dtype = DType::f32;        // of the weights, from config.json
  std::optional<Fp8Blocks> fp8{};  // read: weights are codes of 8 bits with scales; never written
  bool may_lack_head = false;      // read: the class is one without a head (LlamaModel), or none is named
  std::vector<i64> bos_token_ids{}, eos_token_ids{}, pad_token_ids{};  // empty: none
  std::optional<i64> decoder_start{};  // of an encoder-decoder: the token that answers begin with
};

// `where` names the text in messages. Accepts the keys of transformers 4 and 5. Families by architectures[0], else
// model_type.
HfConfig parse_hf_config(std::string_view json_text, const std::string& where);

// config.json of a model directory. If it says untied, but the class may lack a head and the weights have none, the
// output is tied. Modules of multi-token prediction without weights are dropped.
HfConfig read_hf_config(const std::string& dir);
// Whether the text of a config.json names an architecture of ours. Error if it is not a JSON object.
bool is_our_hf_architecture(std::string_view json_text, const std::string& where);
bool is_hf_directory(const std::string& dir);  // has a config.json

// Error, with its name, if a size from config.json is missing (0).
void check_sizes_known(const ModelConfig& model);

// Text of a config.json that transformers loads. Error names the settings that the family cannot express. Dimensions
// must be resolved (no zeros).
std::string write_hf_config(const HfConfig& config);

// The first family that can express the model. The Error has each family's reason.
const HfFamily& choose_hf_family(const ModelConfig& model);

// The settings that decide what a model computes, as (Megatron's name, value) pairs; those without effect are left out.
std::vector<std::pair<std::string, std::string>> describe(const ModelConfig& model);

}  // namespace megalith
