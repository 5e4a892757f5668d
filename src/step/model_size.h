// Sizes of a model, counted over the graph that it builds.
//
// Model flops are Megatron's, for the throughput in the log. They are the products with weights and attention's two
// products, three times their forward (a multiply-add is 2). Attention with a causal mask counts half of its square.
// A sliding window is not discounted. Rows of vocabulary padding count. Norms, softmax, lookups, the loss, dropout,
// the optimizer and recomputation do not.
//
// Two conventions are in use for causal attention: half of its square, or the whole. Half is what a kernel computes
// (here and in Megatron). The whole (PaLM's MFU, nanoGPT, llm.c) is `attention_flops` more for a causal model.
#pragma once
#include "models/model.h"

namespace megalith {

// Activations and flops are for one sequence. Sums are f64, because mistyped sizes may be huge.
struct ModelSize {
  std::map<ParameterKind, double> by_kind;        // parameters of the model, for any layout
  double experts = 0;                             // of the parameters: those of experts
  double padding = 0;                             // elements of vocabulary padding in addition
  double product_flops = 0, attention_flops = 0;  // of a step, forward and backward
  double looked_up = 0;                           // outputs of lookups in a table of words, in elements
  double logits = 0;                              // elements
  double attended = 0;                            // inputs and outputs of attention, in elements
  double largest = 0;                             // elements of the largest value

  double parameters() const;
  double flops() const { return product_flops + attention_flops; }
};
ModelSize size_of(const Model& model, const ModelPiece& piece);
inline ModelSize size_of(const Model& model) { return size_of(model, model.whole()); }

}  // namespace megalith
