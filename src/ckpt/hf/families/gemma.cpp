// Gemma, the first version. Its class reads "gelu" as tanh's approximation, with which the weights were trained.
#include "ckpt/hf/families/parts.h"

namespace megalith::families::gemma {

static void read(const JsonFields& f, ModelConfig& m) {
  read_llama_like(f, m, {.groups = 16, .head_width = 256, .max_position_embeddings = 8192, .untied = false});
  const std::string act = f.text({"hidden_act"}, "gelu");
  check(act == "gelu" || act == "gelu_pytorch_tanh",
        "{}: hidden_act = \"{}\" is not supported; here only gelu_pytorch_tanh is", f.where(), act);
  m.activation = Activation::geglu;
  m.apply_layernorm_1p = m.scale_embedding = true;
  m.add_attention_bias = f.flag({"attention_bias"}, false);
  f.require("use_bidirectional_attention", false, false);
}

static void write(const ModelConfig& m, nlohmann::ordered_json& j) {
  write_llama_like(m, j);
  j["hidden_act"] = j["hidden_activation"] = "gelu_pytorch_tanh";
  j["attention_bias"] = m.attention_bias();
}

extern const HfFamily family;
const HfFamily family = {.name = "gemma",
                         .architecture = "GemmaForCausalLM",
                         .ids = {.bos = 2, .eos = 1, .pad = 0},
                         .read = read,
                         .write = write};

}  // namespace megalith::families::gemma
