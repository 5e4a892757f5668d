// ModelConfig -> config.json, in the keys of transformers 4, which version 5 also reads. Reading the result back
// finds what a family cannot express.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/check.h"
#include "ckpt/hf/hf_config.h"
#include "ckpt/hf/hf_token_ids.h"

namespace megalith {
namespace {

using nlohmann::ordered_json;

ordered_json ids(const std::vector<i64>& list) {
  if (list.empty()) return nullptr;
  if (list.size() == 1) return list[0];
  return list;
}

std::string_view torch_name(DType t) {
  switch (t) {
    case DType::f32:
      return "float32";
    case DType::bf16:
      return "bfloat16";
    case DType::f16:
      return "float16";
    case DType::f64:
      return "float64";
    default:
      fail("[hf] cannot write weights as {}: want f32, bf16 or f16", name_of(t));
  }
}

// Reading `text` must give the same model.
void check_survives(const HfConfig& config, const std::string& text) {
  const std::string where = fmt::format("[hf] as {}", config.family->name);
  const auto meant = describe(config.model), read = describe(parse_hf_config(text, where).model);
  for (const auto& [name, value] : meant) {
    for (const auto& [other, instead] : read)
      check(name != other || value == instead, "{} the model would have {} = {}, not {}", where, name, instead, value);
  }
}

}  // namespace

void check_sizes_known(const ModelConfig& m) {
  const std::pair<const char*, i64> sizes[] = {{"num_layers", m.num_layers},
                                               {"hidden_size", m.hidden_size},
                                               {"ffn_hidden_size", m.ffn_hidden_size},
                                               {"num_attention_heads", m.num_attention_heads},
                                               {"num_query_groups", m.num_query_groups},
                                               {"kv_channels", m.kv_channels},
                                               {"vocab_size", m.vocab_size},
                                               {"max_position_embeddings", m.max_position_embeddings}};
  for (const auto& [name, size] : sizes)
    check(size > 0, "[hf] the checkpoint does not have its {}, which config.json needs: write native or torch_dist",
          name);
}

std::string write_hf_config(const HfConfig& config) {
  const ModelConfig& m = config.model;
  check_sizes_known(m);
  ordered_json j;
  j["architectures"] = ordered_json::array({config.family->architecture});
  j["model_type"] = config.family->name;
  j["torch_dtype"] = torch_name(config.dtype);
  j["vocab_size"] = m.vocab_size;
  config.family->write(m, j);
  j["initializer_range"] = m.init_method_std;
  j["tie_word_embeddings"] = !m.untie_embeddings_and_output_weights;
  j["use_cache"] = true;
  j["bos_token_id"] = ids(config.bos_token_ids);
  j["eos_token_id"] = ids(config.eos_token_ids);
  j["pad_token_id"] = ids(config.pad_token_ids);
  if (m.is_t5()) j["decoder_start_token_id"] = config.decoder_start.value_or(kT5Start);
  std::string text = j.dump(2) + "\n";
  check_survives(config, text);
  return text;
}

}  // namespace megalith
