#include "models/retro_config.h"

#include "config/field.h"

namespace megalith {

// Every third layer from the sixth on; in deep models from the ninth.
bool RetroModelConfig::attends(i64 layer, i64 layers) {
  const i64 first = layers <= 15 ? 6 : 9, number = layer + 1;
  return number >= first && (number - first) % 3 == 0;
}

void list_fields(RetroModelConfig& c, config::FieldList& f) {
  f.group("Retrieval (RETRO)");
  f.add("retro-add-retriever", c.add_retriever,
        "Attend to the neighbours of --retro-project-dir. Without this flag a GPT trains on the same samples.");
  f.add("retro-chunk-length", c.chunk_length,
        "Tokens of a chunk. Each chunk has its own neighbours. Megatron stores it in the project instead.")
      .also("--retro-gpt-chunk-length");
  f.add("retro-num-neighbors", c.num_neighbors, "Neighbours of a chunk that the model reads.");
  f.add("retro-num-retrieved-chunks", c.num_retrieved_chunks,
        "Chunks of a neighbour: the retrieved one and the next ones of its document.");
  f.add("retro-encoder-layers", c.encoder_layers, "Layers of the neighbours' encoder.");
  f.add("retro-encoder-hidden-dropout", c.encoder_hidden_dropout, "--hidden-dropout of the neighbours' encoder.")
      .there_is("0.1");
  f.add("retro-encoder-attention-dropout", c.encoder_attention_dropout,
        "--attention-dropout of the neighbours' encoder.")
      .there_is("0.1");
  f.add("retro-no-final-layernorm", c.no_final_layernorm,
        "The decoder ends without a norm, as Megatron Core 0.8 to 0.15 built it. Not in Megatron.");
}

}  // namespace megalith
