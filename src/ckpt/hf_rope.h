// What config.json says of rotary embeddings.
#pragma once
#include "models/config.h"

namespace megalith {

class JsonFields;

// rope_scaling (transformers 4) or rope_parameters (5), and the keys that older files have at top level. Only gpt_neox
// rotates a part of each head.
void read_rope(const JsonFields& f, ModelConfig& m, bool partial);

}  // namespace megalith
