// Model flops by Megatron's formula, for the throughput in the log: a multiply-add is 2, a step is 3 times its forward,
// causal attention half of its square. Norms, softmax, embeddings, dropout, the optimizer and recomputation do not
// count, and a sliding window is not discounted.
//
// Two conventions are in use for attention: half of its square, which is what a causal kernel computes (here and in
// Megatron), and the whole square (PaLM's MFU, nanoGPT, llm.c).
// attention_flops_per_token() is what the second counts more.
#pragma once
#include "models/config.h"

namespace megalith {

// Of one token of a sequence of config.seq_length, forward and backward. The config is resolved (no zeros left to
// derive).
double flops_per_token(const ModelConfig& config);

// Of it, attention's two products of s x s, half of the square.
double attention_flops_per_token(const ModelConfig& config);

// Of it, head and loss: the product with the vocabulary.
double head_flops_per_token(const ModelConfig& config);

// Of one iteration over so many sequences of config.seq_length.
double flops_per_iteration(const ModelConfig& config, i64 sequences);

// Per device and second, in units of 1e12.
double tflops_per_device(double flops, double seconds, i64 devices);

}  // namespace megalith
