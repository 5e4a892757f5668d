// ModelConfig -> config.json, in the keys of transformers 4, which version 5 reads too. What a family cannot express is
// found by reading the result back.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/check.h"
#include "ckpt/hf/hf_config.h"

namespace megalith {
namespace {

using nlohmann::ordered_json;

std::string_view gelu_name(Activation a) { return a == Activation::gelu ? "gelu" : "gelu_new"; }

ordered_json rope_scaling(const ModelConfig& m) {
  if (m.use_rope_scaling)
    return {{"rope_type", "llama3"},
            {"factor", m.rope_scaling_factor},
            {"low_freq_factor", m.rope_low_freq_factor},
            {"high_freq_factor", m.rope_high_freq_factor},
            {"original_max_position_embeddings", m.rope_original_max_position_embeddings}};
  if (m.rotary_seq_len_interpolation_factor != 1)
    return {{"rope_type", "linear"}, {"factor", m.rotary_seq_len_interpolation_factor}};
  return nullptr;
}

void write_llama_like(const ModelConfig& m, HfFamily family, ordered_json& j) {
  j["hidden_size"] = m.hidden_size;
  j["intermediate_size"] = m.ffn_hidden_size;
  j["num_hidden_layers"] = m.num_layers;
  j["num_attention_heads"] = m.num_attention_heads;
  j["num_key_value_heads"] = m.num_query_groups;
  j["head_dim"] = m.kv_channels;
  j["hidden_act"] = "silu";
  j["max_position_embeddings"] = m.max_position_embeddings;
  j["rms_norm_eps"] = m.norm_epsilon;
  j["rope_theta"] = m.rotary_base;
  j["rope_scaling"] = rope_scaling(m);
  j["attention_dropout"] = m.attention_dropout;
  const ordered_json window = m.sliding_window > 0 ? ordered_json(m.sliding_window) : ordered_json();
  if (family == HfFamily::llama) {
    // LlamaConfig checks this, although the model would not need it.
    check(m.hidden_size % m.num_attention_heads == 0,
          "[hf] llama needs a hidden size ({}) that is a multiple of the heads ({})", m.hidden_size,
          m.num_attention_heads);
    j["attention_bias"] = m.attention_bias(), j["mlp_bias"] = m.mlp_bias();
  } else if (family == HfFamily::mistral) {
    j["sliding_window"] = window;
  } else {
    j["use_sliding_window"] = m.sliding_window > 0;
    j["sliding_window"] = window;
    j["max_window_layers"] = m.sliding_window > 0 ? 0 : m.num_layers;
    if (family == HfFamily::qwen3) j["attention_bias"] = m.attention_bias();
  }
}

void write_gpt2(const ModelConfig& m, ordered_json& j) {
  j["n_embd"] = m.hidden_size;
  j["n_inner"] = m.ffn_hidden_size;
  j["n_layer"] = m.num_layers;
  j["n_head"] = m.num_attention_heads;
  j["n_positions"] = m.max_position_embeddings;
  j["activation_function"] = gelu_name(m.activation);
  j["layer_norm_epsilon"] = m.norm_epsilon;
  j["attn_pdrop"] = m.attention_dropout;
  j["resid_pdrop"] = j["embd_pdrop"] = m.hidden_dropout;
}

void write_gpt_neox(const ModelConfig& m, ordered_json& j) {
  j["hidden_size"] = m.hidden_size;
  j["intermediate_size"] = m.ffn_hidden_size;
  j["num_hidden_layers"] = m.num_layers;
  j["num_attention_heads"] = m.num_attention_heads;
  j["hidden_act"] = gelu_name(m.activation);
  j["max_position_embeddings"] = m.max_position_embeddings;
  j["layer_norm_eps"] = m.norm_epsilon;
  j["rotary_emb_base"] = m.rotary_base;
  j["rotary_pct"] = m.rotary_percent;
  j["rope_scaling"] = rope_scaling(m);
  j["use_parallel_residual"] = m.parallel_residual;
  j["attention_bias"] = true;
  j["attention_dropout"] = m.attention_dropout;
  j["hidden_dropout"] = m.hidden_dropout;
}

void write_bloom(const ModelConfig& m, ordered_json& j) {
  j["hidden_size"] = m.hidden_size;
  j["n_layer"] = m.num_layers;
  j["n_head"] = m.num_attention_heads;
  j["seq_length"] = m.max_position_embeddings;
  j["layer_norm_epsilon"] = m.norm_epsilon;
  j["apply_residual_connection_post_layernorm"] = false;
  j["attention_dropout"] = m.attention_dropout;
  j["hidden_dropout"] = m.hidden_dropout;
}

void write_falcon(const ModelConfig& m, ordered_json& j) {
  const bool two_norms = m.parallel_residual && !m.parallel_shared_norm;
  const bool grouped = two_norms || (m.num_query_groups != 1 && m.num_query_groups != m.num_attention_heads);
  j["hidden_size"] = m.hidden_size;
  j["ffn_hidden_size"] = m.ffn_hidden_size;
  j["num_hidden_layers"] = m.num_layers;
  j["num_attention_heads"] = m.num_attention_heads;
  j["num_kv_heads"] = m.num_query_groups;
  j["new_decoder_architecture"] = grouped;
  j["multi_query"] = m.num_query_groups == 1;
  j["parallel_attn"] = m.parallel_residual;
  j["num_ln_in_parallel_attn"] = two_norms ? 2 : 1;
  j["bias"] = m.add_bias_linear;
  const bool alibi = m.position_embedding_type == PositionEmbedding::alibi;
  j["alibi"] = alibi;
  j["activation"] = gelu_name(m.activation);
  j["max_position_embeddings"] = m.max_position_embeddings;
  j["layer_norm_epsilon"] = m.norm_epsilon;
  if (!alibi) j["rope_theta"] = m.rotary_base, j["rope_scaling"] = rope_scaling(m);
  j["attention_dropout"] = m.attention_dropout;
  j["hidden_dropout"] = m.hidden_dropout;
}

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

// What reading `text` gives must be the model that was meant.
void check_survives(const HfConfig& config, const std::string& text) {
  const std::string where = fmt::format("[hf] as {}", name_of(config.family));
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
    check(size > 0,
          "[hf] the checkpoint does not tell its {}, without which there is no config.json: write native or torch_dist",
          name);
}

std::string write_hf_config(const HfConfig& config) {
  const ModelConfig& m = config.model;
  check_sizes_known(m);
  ordered_json j;
  j["architectures"] = ordered_json::array({hf_architecture(config.family)});
  j["model_type"] = name_of(config.family);
  j["torch_dtype"] = torch_name(config.dtype);
  j["vocab_size"] = m.vocab_size;
  switch (config.family) {
    case HfFamily::gpt2:
      write_gpt2(m, j);
      break;
    case HfFamily::gpt_neox:
      write_gpt_neox(m, j);
      break;
    case HfFamily::bloom:
      write_bloom(m, j);
      break;
    case HfFamily::falcon:
      write_falcon(m, j);
      break;
    default:
      write_llama_like(m, config.family, j);
  }
  j["initializer_range"] = m.init_method_std;
  j["tie_word_embeddings"] = !m.untie_embeddings_and_output_weights;
  j["use_cache"] = true;
  j["bos_token_id"] = ids(config.bos_token_ids);
  j["eos_token_id"] = ids(config.eos_token_ids);
  j["pad_token_id"] = ids(config.pad_token_ids);
  std::string text = j.dump(2) + "\n";
  check_survives(config, text);
  return text;
}

}  // namespace megalith
