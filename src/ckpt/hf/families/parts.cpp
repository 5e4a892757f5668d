#include "ckpt/hf/families/parts.h"

namespace megalith {

using nlohmann::ordered_json;

Activation read_activation(const JsonFields& f, const char* key, const std::string& fallback) {
  const std::string name = f.text({key}, fallback);
  if (name == "gelu" || name == "gelu_python") return Activation::gelu;
  if (name == "gelu_new" || name == "gelu_fast" || name == "gelu_pytorch_tanh") return Activation::gelu_tanh;
  fail("{}: {} = \"{}\" is not supported; here only gelu, gelu_new, gelu_fast and gelu_pytorch_tanh are", f.where(),
       key, name);
}

std::string_view gelu_name(Activation a) { return a == Activation::gelu ? "gelu" : "gelu_new"; }

void read_heads(const JsonFields& f, ModelConfig& m, i64 groups, std::optional<i64> head_width) {
  m.num_query_groups = groups;
  check(m.num_attention_heads % groups == 0, "{}: {} attention heads are not a multiple of {} key-value heads",
        f.where(), m.num_attention_heads, groups);
  check(head_width.has_value() || m.hidden_size % m.num_attention_heads == 0,
        "{}: hidden size {} is not a multiple of {} attention heads", f.where(), m.hidden_size, m.num_attention_heads);
  m.kv_channels = head_width.value_or(m.hidden_size / m.num_attention_heads);
}

void read_llama_like(const JsonFields& f, ModelConfig& m, const LlamaDefaults& defaults) {
  m.hidden_size = f.size({"hidden_size"});
  m.num_layers = f.size({"num_hidden_layers"});
  m.num_attention_heads = f.size({"num_attention_heads"});
  m.ffn_hidden_size = f.size({"intermediate_size"});
  const auto width = f.absent("head_dim") ? defaults.head_width : f.optional_size({"head_dim"});
  const bool of_class = defaults.groups > 0 && f.absent("num_key_value_heads");
  read_heads(f, m, f.size({"num_key_value_heads"}, of_class ? defaults.groups : m.num_attention_heads), width);
  m.activation = Activation::swiglu;
  m.normalization = Normalization::rms_norm;
  m.norm_epsilon = f.positive({"rms_norm_eps"}, defaults.norm_epsilon);
  m.add_bias_linear = false;
  m.max_position_embeddings = f.size({"max_position_embeddings"}, defaults.max_position_embeddings);
  m.untie_embeddings_and_output_weights = !f.flag({"tie_word_embeddings"}, !defaults.untied);
  m.attention_dropout = f.number({"attention_dropout"}, 0);
  read_rope(f, m);
}

void require_silu(const JsonFields& f) {
  const std::string act = f.text({"hidden_act"}, "silu");
  check(act == "silu" || act == "swish", "{}: hidden_act = \"{}\" is not supported; here only silu is", f.where(), act);
}

void write_llama_like(const ModelConfig& m, ordered_json& j) {
  j["hidden_size"] = m.hidden_size;
  j["intermediate_size"] = m.ffn_hidden_size;
  j["num_hidden_layers"] = m.num_layers;
  j["num_attention_heads"] = m.num_attention_heads;
  j["num_key_value_heads"] = m.num_query_groups;
  j["head_dim"] = m.kv_channels;
  j["hidden_act"] = "silu";
  // Of dynamic rope it is the original length.
  const bool dynamic = m.rope_scaling.kind == RopeScaling::Kind::dynamic;
  j["max_position_embeddings"] = dynamic ? m.rope_scaling.original_length : m.max_position_embeddings;
  j["rms_norm_eps"] = m.norm_epsilon;
  j["rope_theta"] = m.rotary_base;
  j["rope_scaling"] = rope_scaling(m);
  j["attention_dropout"] = m.attention_dropout;
}

}  // namespace megalith
