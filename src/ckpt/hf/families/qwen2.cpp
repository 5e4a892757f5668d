// Qwen 2 and 2.5. Its class does not read the keys of biases.
#include "ckpt/hf/families/parts.h"

namespace megalith::families::qwen2 {

static void read(const JsonFields& f, ModelConfig& m) {
  require_silu(f);
  read_llama_like(f, m, {.groups = 32, .max_position_embeddings = 32768});
  m.add_qkv_bias = true;
  m.sliding_window = read_switched_window(f, m.num_layers);
}

static void write(const ModelConfig& m, nlohmann::ordered_json& j) {
  write_llama_like(m, j);
  write_switched_window(m, j);
}

extern const HfFamily family;
const HfFamily family = {.name = "qwen2", .architecture = "Qwen2ForCausalLM", .read = read, .write = write};

}  // namespace megalith::families::qwen2
