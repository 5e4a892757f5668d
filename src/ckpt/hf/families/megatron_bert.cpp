// Megatron's BERT: norms before the blocks, and one after the last layer.
#include "ckpt/hf/families/parts.h"

namespace megalith::families::megatron_bert {

static HfNames names(const ModelConfig& m) {
  HfNames n = bert_names(m);
  n.input_norm = "attention.ln", n.mlp_norm = "ln", n.final_norm = "encoder.ln";
  return n;
}

extern const HfFamily family;
const HfFamily family = {.name = "megatron-bert",
                         .architecture = "MegatronBertForPreTraining",
                         .other_architecture = "MegatronBertForMaskedLM",
                         .ids = {.pad = 0},
                         .kind = Architecture::bert,
                         .read = [](const JsonFields& f, ModelConfig& m) { read_bert(f, m, false); },
                         .write = write_bert,
                         .names = names};

}  // namespace megalith::families::megatron_bert
