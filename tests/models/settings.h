// Small models, and the ways of laying them over ranks that are compared with one rank.
#pragma once
#include "tests/models/training.h"

namespace megalith::harness {

ModelConfig llama_like();  // RMSNorm, rope, SwiGLU, 2 KV groups of 4 heads, no biases, untied, padded vocabulary
ModelConfig mla_like();    // llama_like with multi-head latent attention: latents, their norms, yarn
ModelConfig gpt2_like();   // LayerNorm, learned positions, gelu, biases, tied, dropout, padded vocabulary
ModelConfig bert_like();   // gpt2_like with BERT's two heads
ModelConfig t5_v10();      // RMSNorm, relative positions, relu, no biases, tied with scaled outputs, unscaled attention
ModelConfig t5_v11();      // the same with GeGLU and an untied head, more layers in the decoder
ModelConfig retro_gpt2();  // gpt2_like that attends to neighbours in two layers, with dropout in their encoder
ModelConfig retro_llama();  // llama_like that does so in one, with an encoder of one layer and no last norm
ModelConfig t5_megatron();  // LayerNorm, learned positions, gelu, biases, tied with a bias of the head, dropout
ModelConfig mixture();      // llama_like with 8 experts, 2 a token

struct Setting {
  std::string name;
  TrainingSpec spec;
};
std::vector<Setting> settings();

struct Difference {
  double loss = 0, gradients = 0, norm = 0, step = 0;
  double tallies = 0;  // tokens of experts, losses of layers
  double worst() const { return std::max({loss, gradients, norm, step, tallies}); }
};
// Against the same model on one rank: the full batch at once, no padding. The step leaves out key biases: their
// gradient is 0 in exact arithmetic, and Adam makes whole steps of the rounding.
Difference compare_with_one_rank(const TrainingSpec& spec);

}  // namespace megalith::harness
