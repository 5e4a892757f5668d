// What config.json says of rotary embeddings, where each setting may stand in several places. The precedence is that of
// transformers 5: rope_scaling, if it is not empty, then rope_parameters, then the keys at the top level.
#pragma once
#include "ckpt/hf/hf_config.h"

namespace megalith {

class JsonFields;

// Only gpt_neox rotates a part of each head.
void read_rope(const JsonFields& f, ModelConfig& m, HfFamily family);

}  // namespace megalith
