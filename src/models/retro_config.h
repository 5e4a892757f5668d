// The settings of a RETRO (Borgeaud et al. 2022) in addition to a GPT's. Names are Megatron's flags where Megatron has
// them.
#pragma once
#include "base/dtype.h"

namespace megalith {

namespace config {
class FieldList;
}

struct RetroModelConfig {
  bool add_retriever = false;    // false: a GPT on the same data
  i64 chunk_length = 64;         // tokens a chunk
  i64 num_neighbors = 2;         // neighbours of a chunk that the model reads
  i64 num_retrieved_chunks = 2;  // chunks of a neighbour: itself and those that follow it
  i64 encoder_layers = 2;        // layers of the neighbours' encoder
  double encoder_hidden_dropout = 0, encoder_attention_dropout = 0;
  bool no_final_layernorm = false;  // the decoder ends without a norm (Megatron Core 0.8 to 0.15)

  i64 retrieved_length() const { return num_retrieved_chunks * chunk_length; }  // tokens of a neighbour
  // Whether layer number `layer`, from 0, of `layers` attends to neighbours.
  static bool attends(i64 layer, i64 layers);
  bool operator==(const RetroModelConfig&) const = default;
};

void list_fields(RetroModelConfig& c, config::FieldList& f);

}  // namespace megalith
