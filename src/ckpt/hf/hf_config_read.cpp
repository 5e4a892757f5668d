// config.json -> ModelConfig. One function per family; what they share (llama's descendants) comes first.
// Defaults for absent keys are those of transformers' configuration classes.
#include <fmt/format.h>
#include <algorithm>
#include <filesystem>

#include "base/parse_json.h"
#include "ckpt/hf/hf_config.h"
#include "ckpt/hf/hf_rope.h"
#include "ckpt/hf/hf_token_ids.h"
#include "ckpt/hf/hf_window.h"
#include "ckpt/tensors/files.h"
#include "ckpt/tensors/json_fields.h"
#include "ckpt/tensors/safetensors.h"

namespace megalith {
namespace {

using nlohmann::json;

constexpr HfFamily kFamilies[] = {HfFamily::gpt2,  HfFamily::llama,    HfFamily::mistral, HfFamily::qwen2,
                                  HfFamily::qwen3, HfFamily::gpt_neox, HfFamily::bloom,   HfFamily::falcon};

std::string our_architectures() {
  std::string list;
  for (const HfFamily family : kFamilies) list += (list.empty() ? "" : ", ") + std::string(hf_architecture(family));
  return list;
}

// The class without a head: GPT2LMHeadModel -> GPT2Model. Its files hold the same model.
std::string base_architecture(HfFamily family) {
  const std::string_view causal = hf_architecture(family);
  return std::string(causal.substr(0, std::min(causal.find("LMHead"), causal.find("For")))) + "Model";
}

std::optional<HfFamily> family_of_type(const std::string& model_type) {
  for (const HfFamily family : kFamilies)
    if (name_of(family) == model_type) return family;
  return std::nullopt;
}

// A class that is not ours is refused. Between two of ours model_type decides, as in transformers.
HfFamily read_family(const JsonFields& f) {
  const std::string type = f.text({"model_type"}, "");
  const auto by_type = family_of_type(type);
  const json* list = f.find({"architectures"});
  if (list != nullptr && list->is_array() && !list->empty()) {
    const json& first = list->front();
    if (!first.is_string()) f.want({"architectures"}, *list, "a list of names");
    for (const HfFamily family : kFamilies)
      if (first == hf_architecture(family) || first == base_architecture(family)) return by_type.value_or(family);
    fail("{}: architecture {} is not supported; we have {}", f.where(), first.dump(), our_architectures());
  }
  check(by_type.has_value(), "{}: model_type \"{}\" is not supported; we have {}", f.where(), type,
        our_architectures());
  return *by_type;
}

// Whether the class is the one with a head, not its base or unnamed.
bool names_head(const JsonFields& f, HfFamily family) {
  const json* list = f.find({"architectures"});
  return list != nullptr && list->is_array() && !list->empty() && list->front() == hf_architecture(family);
}

Activation read_activation(const JsonFields& f, const char* key, const std::string& fallback) {
  const std::string name = f.text({key}, fallback);
  if (name == "gelu" || name == "gelu_python") return Activation::gelu;
  if (name == "gelu_new" || name == "gelu_fast" || name == "gelu_pytorch_tanh") return Activation::gelu_tanh;
  fail("{}: {} = \"{}\" is not supported; here only gelu, gelu_new, gelu_fast and gelu_pytorch_tanh are", f.where(),
       key, name);
}

// Head counts and widths; most families have neither key-value heads nor a head width of their own.
void read_heads(const JsonFields& f, ModelConfig& m, i64 groups, std::optional<i64> head_width) {
  m.num_query_groups = groups;
  check(m.num_attention_heads % groups == 0, "{}: {} attention heads are not a multiple of {} key-value heads",
        f.where(), m.num_attention_heads, groups);
  check(head_width.has_value() || m.hidden_size % m.num_attention_heads == 0,
        "{}: hidden size {} is not a multiple of {} attention heads", f.where(), m.hidden_size, m.num_attention_heads);
  m.kv_channels = head_width.value_or(m.hidden_size / m.num_attention_heads);
}

// Mistral's and Qwen2's classes do not read these keys.
void read_biases(const JsonFields& f, HfFamily family, ModelConfig& m) {
  const bool llama = family == HfFamily::llama;
  m.add_attention_bias = (llama || family == HfFamily::qwen3) && f.flag({"attention_bias"}, false);
  m.add_mlp_bias = llama && f.flag({"mlp_bias"}, false);
  m.add_bias_linear = m.add_attention_bias && m.add_mlp_bias;
  if (m.add_bias_linear) m.add_attention_bias = m.add_mlp_bias = false;
}

void read_llama_like(const JsonFields& f, HfFamily family, ModelConfig& m) {
  m.hidden_size = f.size({"hidden_size"});
  m.num_layers = f.size({"num_hidden_layers"});
  m.num_attention_heads = f.size({"num_attention_heads"});
  m.ffn_hidden_size = f.size({"intermediate_size"});
  auto width = f.optional_size({"head_dim"});
  if (family == HfFamily::qwen3 && f.absent("head_dim")) width = 128;
  const bool own_groups = family == HfFamily::llama || !f.absent("num_key_value_heads");  // null: of each head
  const i64 groups = own_groups ? m.num_attention_heads : family == HfFamily::mistral ? 8 : 32;
  read_heads(f, m, f.size({"num_key_value_heads"}, groups), width);
  const std::string act = f.text({"hidden_act"}, "silu");
  check(act == "silu" || act == "swish", "{}: hidden_act = \"{}\" is not supported; here only silu is", f.where(), act);
  m.activation = Activation::swiglu;
  m.normalization = Normalization::rms_norm;
  m.norm_epsilon = f.positive({"rms_norm_eps"}, 1e-6);
  m.qk_layernorm = family == HfFamily::qwen3;
  m.add_qkv_bias = family == HfFamily::qwen2;
  read_biases(f, family, m);
  const i64 length = family == HfFamily::llama ? 2048 : family == HfFamily::mistral ? 131072 : 32768;
  m.max_position_embeddings = f.size({"max_position_embeddings"}, length);
  m.untie_embeddings_and_output_weights = !f.flag({"tie_word_embeddings"}, false);
  m.sliding_window = read_window(f, family, m.num_layers);
  m.attention_dropout = f.number({"attention_dropout"}, 0);
  read_rope(f, m, family);
}

// Where a size has two names the common one counts, as in transformers.
void read_gpt2(const JsonFields& f, ModelConfig& m) {
  m.hidden_size = f.size({"hidden_size", "n_embd"});
  m.num_layers = f.size({"num_hidden_layers", "n_layer"});
  m.num_attention_heads = f.size({"num_attention_heads", "n_head"});
  m.ffn_hidden_size = f.size({"n_inner"}, 4 * m.hidden_size);
  read_heads(f, m, m.num_attention_heads, std::nullopt);
  m.max_position_embeddings = f.size({"max_position_embeddings", "n_positions"}, 1024);
  m.activation = read_activation(f, "activation_function", "gelu_new");
  m.norm_epsilon = f.positive({"layer_norm_epsilon"}, 1e-5);
  m.untie_embeddings_and_output_weights = !f.flag({"tie_word_embeddings"}, true);
  f.require("scale_attn_weights", true, true);
  f.require("scale_attn_by_inverse_layer_idx", false, false);
  m.attention_dropout = f.number({"attn_pdrop"}, 0.1);
  m.hidden_dropout = f.number({"resid_pdrop"}, 0.1);
  const double embedding = f.number({"embd_pdrop"}, 0.1);
  check(embedding == m.hidden_dropout, "{}: embd_pdrop = {} with resid_pdrop = {} is not supported; they must be equal",
        f.where(), embedding, m.hidden_dropout);
}

void read_gpt_neox(const JsonFields& f, ModelConfig& m) {
  m.hidden_size = f.size({"hidden_size"});
  m.num_layers = f.size({"num_hidden_layers"});
  m.num_attention_heads = f.size({"num_attention_heads"});
  m.ffn_hidden_size = f.size({"intermediate_size"});
  read_heads(f, m, m.num_attention_heads, std::nullopt);
  // transformers turns so many dims of each head, but keeps heads of hidden_size / num_attention_heads.
  const i64 width = f.size({"head_dim"}, m.kv_channels);
  check(width == m.kv_channels,
        "{}: head_dim = {} is not supported; here only hidden_size / num_attention_heads, {}, is", f.where(), width,
        m.kv_channels);
  m.max_position_embeddings = f.size({"max_position_embeddings"}, 2048);
  m.activation = read_activation(f, "hidden_act", "gelu");
  m.norm_epsilon = f.positive({"layer_norm_eps"}, 1e-5);
  m.untie_embeddings_and_output_weights = !f.flag({"tie_word_embeddings"}, false);
  m.parallel_residual = f.flag({"use_parallel_residual"}, true);
  f.require("attention_bias", true, true);
  m.attention_dropout = f.number({"attention_dropout"}, 0);
  m.hidden_dropout = f.number({"hidden_dropout"}, 0);
  read_rope(f, m, HfFamily::gpt_neox);
}

void read_bloom(const JsonFields& f, ModelConfig& m) {
  m.hidden_size = f.size({"n_embed", "hidden_size"});
  m.num_layers = f.size({"num_hidden_layers", "n_layer"});
  m.num_attention_heads = f.size({"num_attention_heads", "n_head"});
  m.ffn_hidden_size = 4 * m.hidden_size;
  read_heads(f, m, m.num_attention_heads, std::nullopt);
  m.max_position_embeddings = f.size({"seq_length"}, 2048);
  m.position_embedding_type = PositionEmbedding::alibi;
  m.activation = Activation::gelu_tanh;
  m.norm_epsilon = f.positive({"layer_norm_epsilon"}, 1e-5);
  m.embedding_layernorm = true;
  m.untie_embeddings_and_output_weights = !f.flag({"tie_word_embeddings"}, true);
  f.require("apply_residual_connection_post_layernorm", false, false);
  m.attention_dropout = f.number({"attention_dropout"}, 0);
  m.hidden_dropout = f.number({"hidden_dropout"}, 0);
}

void read_falcon(const JsonFields& f, ModelConfig& m) {
  m.hidden_size = f.size({"n_embed", "hidden_size"});
  m.num_layers = f.size({"num_hidden_layers"});
  m.num_attention_heads = f.size({"num_attention_heads"});
  m.ffn_hidden_size = f.size({"ffn_hidden_size"}, 4 * m.hidden_size);
  const bool grouped = f.flag({"new_decoder_architecture"}, false), parallel = f.flag({"parallel_attn"}, true);
  const i64 one = f.flag({"multi_query"}, true) ? 1 : m.num_attention_heads;
  read_heads(f, m, grouped ? f.size({"num_kv_heads"}, m.num_attention_heads) : one, std::nullopt);
  const i64 norms = f.size({"num_ln_in_parallel_attn"}, grouped ? 2 : 1);
  check(!grouped || parallel, "{}: parallel_attn = false with new_decoder_architecture is not supported", f.where());
  check(norms == 1 || (norms == 2 && grouped), "{}: num_ln_in_parallel_attn = {} is not supported here; {} is",
        f.where(), norms, grouped ? "1 or 2" : "1");
  m.parallel_residual = parallel;
  m.parallel_shared_norm = parallel && norms == 1;
  m.add_bias_linear = f.flag({"bias"}, false);
  f.require("apply_residual_connection_post_layernorm", false, false);
  m.max_position_embeddings = f.size({"max_position_embeddings"}, 2048);
  m.activation = read_activation(f, "activation", "gelu");
  m.norm_epsilon = f.positive({"layer_norm_epsilon"}, 1e-5);
  m.untie_embeddings_and_output_weights = !f.flag({"tie_word_embeddings"}, true);
  m.attention_dropout = f.number({"attention_dropout"}, 0);
  m.hidden_dropout = f.number({"hidden_dropout"}, 0);
  if (f.flag({"alibi"}, false))
    m.position_embedding_type = PositionEmbedding::alibi, m.scale_alibi = true;
  else
    read_rope(f, m, HfFamily::falcon);
}

DType read_dtype(const JsonFields& f) {
  std::string name = f.text({"dtype", "torch_dtype"}, "auto");
  if (name.starts_with("torch.")) name.erase(0, 6);
  if (name == "float32" || name == "auto") return DType::f32;  // auto: the files say it of each weight
  if (name == "bfloat16") return DType::bf16;
  if (name == "float16") return DType::f16;
  if (name == "float64") return DType::f64;
  fail("{}: dtype = \"{}\" is not supported; float32, bfloat16, float16 and float64 are", f.where(), name);
}

// Settings that would make any of these models compute something else.
void refuse_foreign_settings(const JsonFields& f) {
  check(!f.has("quantization_config"), "{}: quantization_config is set: quantized weights are not supported",
        f.where());
  f.require("add_cross_attention", false, false);
  check(!f.has("text_config"), "{}: text_config is set: models of text with other inputs are not supported", f.where());
  const json* pruned = f.find({"pruned_heads"});
  check(pruned == nullptr || pruned->empty(), "{}: pruned_heads is set: pruned models are not supported", f.where());
}

}  // namespace

static json parse_object(std::string_view json_text, const std::string& where) {
  check(!is_nested_too_deep(json_text), "{} is nested more than {} levels deep", where, kMaxJsonDepth);
  auto root = parse_json<json>(json_text);
  check(root.is_object(), "{} is not a JSON object: want a Hugging Face config.json", where);
  return root;
}

bool is_our_hf_architecture(std::string_view json_text, const std::string& where) {
  const json root = parse_object(json_text, where);
  try {
    read_family(JsonFields(root, where));
    return true;
  } catch (const Error&) {
    return false;
  }
}

HfConfig parse_hf_config(std::string_view json_text, const std::string& where) {
  const json root = parse_object(json_text, where);
  const JsonFields f(root, where);
  HfConfig c;
  c.family = read_family(f);
  refuse_foreign_settings(f);
  ModelConfig& m = c.model;
  m.vocab_size = f.size({"vocab_size"});
  m.init_method_std = f.number({"initializer_range"}, 0.02);
  switch (c.family) {
    case HfFamily::gpt2:
      read_gpt2(f, m);
      break;
    case HfFamily::gpt_neox:
      read_gpt_neox(f, m);
      break;
    case HfFamily::bloom:
      read_bloom(f, m);
      break;
    case HfFamily::falcon:
      read_falcon(f, m);
      break;
    default:
      read_llama_like(f, c.family, m);
  }
  constexpr i64 kMaxLayers = 100000, kMaxWidth = 1 << 24;
  check(m.num_layers <= kMaxLayers && m.hidden_size <= kMaxWidth && m.ffn_hidden_size <= 4 * kMaxWidth &&
            m.kv_channels <= kMaxWidth,
        "{}: {} layers of width {} and {}: no such model fits any machine", where, m.num_layers, m.hidden_size,
        m.ffn_hidden_size);
  m.seq_length = m.max_position_embeddings;
  c.dtype = read_dtype(f);
  c.may_lack_head = !names_head(f, c.family);
  read_token_ids(f, c);
  return c;
}

HfConfig read_hf_config(const std::string& dir) {
  const std::string path = dir + "/config.json";
  check(std::filesystem::exists(path), "[hf] {} has no config.json: not a Hugging Face model directory", dir);
  HfConfig c = parse_hf_config(read_text(path), "[hf] " + path);
  if (c.model.untie_embeddings_and_output_weights && c.may_lack_head) {
    const TensorFiles files = TensorFiles::open_directory(dir);
    const bool head = files.find("lm_head.weight") != nullptr || files.find("embed_out.weight") != nullptr;
    c.model.untie_embeddings_and_output_weights = head;
  }
  return c;
}

bool is_hf_directory(const std::string& dir) { return std::filesystem::exists(dir + "/config.json"); }

}  // namespace megalith
