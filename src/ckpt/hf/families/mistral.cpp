// Mistral. Its class does not read the keys of biases.
#include "ckpt/hf/families/parts.h"

namespace megalith::families::mistral {

static void read(const JsonFields& f, ModelConfig& m) {
  require_silu(f);
  read_llama_like(f, m, {.groups = 8, .max_position_embeddings = 131072});
  m.sliding_window = read_window(f, m.num_layers);
}

static void write(const ModelConfig& m, nlohmann::ordered_json& j) {
  write_llama_like(m, j);
  j["sliding_window"] = m.sliding_window > 0 ? nlohmann::ordered_json(m.sliding_window) : nlohmann::ordered_json();
}

extern const HfFamily family;
const HfFamily family = {
    .name = "mistral", .architecture = "MistralForCausalLM", .ids = {.bos = 1, .eos = 2}, .read = read, .write = write};

}  // namespace megalith::families::mistral
