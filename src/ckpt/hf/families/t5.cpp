// T5, v1.0 (relu, a tied head that reads scaled outputs) and v1.1 (gated GELU, an untied head).
#include "ckpt/hf/families/parts.h"

namespace megalith::families::t5 {

struct Projection {
  const char* name;
  Activation activation;
};
// The values of feed_forward_proj; "gated-gelu" is GELU's tanh approximation there.
static constexpr Projection kProjections[] = {{"relu", Activation::relu},
                                              {"gated-gelu", Activation::geglu},
                                              {"gated-silu", Activation::swiglu},
                                              {"gelu", Activation::gelu},
                                              {"gelu_new", Activation::gelu_tanh}};

static Activation read_projection(const JsonFields& f) {
  const std::string name = f.text({"feed_forward_proj"}, "relu");
  for (const Projection& p : kProjections)
    if (name == p.name) return p.activation;
  fail("{}: feed_forward_proj = \"{}\" is not supported; relu, gated-gelu, gated-silu, gelu and gelu_new are",
       f.where(), name);
}

static void read(const JsonFields& f, ModelConfig& m) {
  m.hidden_size = f.size({"d_model", "hidden_size"}, 512);
  m.kv_channels = f.size({"d_kv"}, 64);
  m.ffn_hidden_size = f.size({"d_ff"}, 2048);
  m.num_layers = f.size({"num_layers", "num_hidden_layers"}, 6);
  m.num_attention_heads = m.num_query_groups = f.size({"num_heads", "num_attention_heads"}, 8);
  m.max_position_embeddings = f.size({"n_positions"}, 512);
  m.position_embedding_type = PositionEmbedding::relative;
  m.activation = read_projection(f);
  m.normalization = Normalization::rms_norm, m.norm_epsilon = f.positive({"layer_norm_epsilon"}, 1e-6);
  m.add_bias_linear = false;
  m.attention_dropout = m.hidden_dropout = f.number({"dropout_rate"}, 0.1);
  const bool tied = f.flag({"tie_word_embeddings"}, true);
  m.untie_embeddings_and_output_weights = !tied;
  m.architecture = Architecture::t5;
  T5ModelConfig& t = m.t5;
  t.decoder_num_layers = f.size({"num_decoder_layers"}, m.num_layers);
  t.decoder_seq_length = m.max_position_embeddings;
  t.relative_attention_num_buckets = f.size({"relative_attention_num_buckets"}, 32);
  t.relative_attention_max_distance = f.size({"relative_attention_max_distance"}, 128);
  t.unscaled_attention = t.no_head_bias = true;
  t.scale_decoder_outputs = f.flag({"scale_decoder_outputs"}, tied);
}

static void write(const ModelConfig& m, nlohmann::ordered_json& j) {
  j["d_model"] = m.hidden_size;
  j["d_kv"] = m.kv_channels;
  j["d_ff"] = m.ffn_hidden_size;
  j["num_layers"] = m.num_layers;
  j["num_decoder_layers"] = m.t5.decoder_num_layers;
  j["num_heads"] = m.num_attention_heads;
  j["n_positions"] = m.max_position_embeddings;
  for (const Projection& p : kProjections)
    if (p.activation == m.activation) j["feed_forward_proj"] = p.name;
  j["layer_norm_epsilon"] = m.norm_epsilon;
  j["dropout_rate"] = m.hidden_dropout;
  j["relative_attention_num_buckets"] = m.t5.relative_attention_num_buckets;
  j["relative_attention_max_distance"] = m.t5.relative_attention_max_distance;
  j["scale_decoder_outputs"] = m.t5.scale_decoder_outputs;
  j["is_encoder_decoder"] = true;
}

extern const HfFamily family;
const HfFamily family = {.name = "t5",
                         .architecture = "T5ForConditionalGeneration",
                         .ids = {.eos = 1, .pad = 0},
                         .kind = Architecture::t5,
                         .read = read,
                         .write = write};

}  // namespace megalith::families::t5
