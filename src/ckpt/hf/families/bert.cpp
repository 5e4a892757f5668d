// BERT, and its part of Megatron's BERT.
#include "ckpt/hf/families/parts.h"

namespace megalith {

// A class for masked language modelling only, which has neither pooler nor binary head.
static bool is_masked_lm(const JsonFields& f) {
  const nlohmann::json* list = f.find({"architectures"});
  if (list == nullptr || !list->is_array() || list->empty() || !list->front().is_string()) return false;
  return list->front().get<std::string>().ends_with("ForMaskedLM");
}

void read_bert(const JsonFields& f, ModelConfig& m, bool post_norm) {
  m.architecture = Architecture::bert;
  m.hidden_size = f.size({"hidden_size"}, post_norm ? 768 : 1024);
  m.num_layers = f.size({"num_hidden_layers"}, post_norm ? 12 : 24);
  m.num_attention_heads = f.size({"num_attention_heads"}, post_norm ? 12 : 16);
  m.ffn_hidden_size = f.size({"intermediate_size"}, post_norm ? 3072 : 4096);
  read_heads(f, m, m.num_attention_heads);
  m.max_position_embeddings = f.size({"max_position_embeddings"}, 512);
  m.activation = read_activation(f, "hidden_act", "gelu");
  check(m.activation == Activation::gelu,
        "{}: hidden_act is GELU's tanh approximation, which would be that of the head too; here only gelu is",
        f.where());
  m.norm_epsilon = f.positive({"layer_norm_eps"}, 1e-12);
  m.untie_embeddings_and_output_weights = !f.flag({"tie_word_embeddings"}, true);
  m.hidden_dropout = f.number({"hidden_dropout_prob"}, 0.1);
  m.attention_dropout = f.number({"attention_probs_dropout_prob"}, 0.1);
  m.embedding_layernorm = m.bert.post_norm = post_norm;
  m.bert.no_binary_head = is_masked_lm(f);
  m.bert.token_types = f.size({"type_vocab_size"}, 2);
  const std::string positions = f.text({"position_embedding_type"}, "absolute");
  check(positions == "absolute", "{}: position_embedding_type = \"{}\" is not supported; here only absolute is",
        f.where(), positions);
  f.require("is_decoder", false, false);
}

void write_bert(const ModelConfig& m, nlohmann::ordered_json& j) {
  check(m.bert.token_types > 0,
        "Hugging Face's BERT has token types, and this model has none: train with --bert-token-types 1");
  if (m.bert.no_binary_head) {
    std::string name = j["architectures"][0];
    j["architectures"][0] = name.replace(name.find("ForPreTraining"), std::string::npos, "ForMaskedLM");
  }
  j["hidden_size"] = m.hidden_size;
  j["num_hidden_layers"] = m.num_layers;
  j["num_attention_heads"] = m.num_attention_heads;
  j["intermediate_size"] = m.ffn_hidden_size;
  j["max_position_embeddings"] = m.max_position_embeddings;
  j["hidden_act"] = "gelu";
  j["layer_norm_eps"] = m.norm_epsilon;
  j["type_vocab_size"] = m.bert.token_types;
  j["hidden_dropout_prob"] = m.hidden_dropout;
  j["attention_probs_dropout_prob"] = m.attention_dropout;
}

// If untied, the bias of the head counts.
HfNames bert_names(const ModelConfig& m) {
  HfNames n{.prefix = "bert.", .head = "cls.predictions.decoder", .embedding = "embeddings.word_embeddings"};
  n.positions = "embeddings.position_embeddings", n.token_types = "embeddings.token_type_embeddings";
  n.layers = "encoder.layer.";
  n.q = "attention.self.query", n.k = "attention.self.key", n.v = "attention.self.value";
  n.proj = "attention.output.dense", n.fc1 = "intermediate.dense", n.fc2 = "output.dense";
  n.head_dense = "cls.predictions.transform.dense", n.head_norm = "cls.predictions.transform.LayerNorm";
  n.head_bias = m.untie_embeddings_and_output_weights ? "cls.predictions.decoder" : "cls.predictions";
  n.pooler = "bert.pooler.dense", n.binary_head = "cls.seq_relationship";
  return n;
}

namespace families::bert {

static HfNames names(const ModelConfig& m) {
  HfNames n = bert_names(m);
  n.embedding_norm = "embeddings.LayerNorm";
  n.attention_output_norm = "attention.output.LayerNorm", n.mlp_output_norm = "output.LayerNorm";
  return n;
}

extern const HfFamily family;
const HfFamily family = {.name = "bert",
                         .architecture = "BertForPreTraining",
                         .other_architecture = "BertForMaskedLM",
                         .ids = {.pad = 0},
                         .kind = Architecture::bert,
                         .read = [](const JsonFields& f, ModelConfig& m) { read_bert(f, m, true); },
                         .write = write_bert,
                         .names = names};

}  // namespace families::bert
}  // namespace megalith
