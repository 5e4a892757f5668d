// A GPT, written once, forward only, as functions that add nodes to a graph. The text is single-device but for enter()
// and leave(), the two places where tensor parallelism meets the residual stream.
//   s sequence  b batch  h hidden  g KV group  r query heads of a group  d head width  f ffn  v padded vocabulary
#pragma once
#include <optional>

#include "graph/builder.h"
#include "models/parallel_style.h"
#include "models/parameter.h"

namespace megalith {

// A pipeline stage's piece of the model.
struct GptPiece {
  i64 first_layer = 0, last_layer = 0;  // [first, last)
  bool first = true, last = true;       // the first has the embedding, the last the head and the loss
  std::string suffix{};                 // of its data leaves' names, where a rank has several pieces
};

struct GptShape {
  i64 batch = 1;                    // sequences of the micro-batch over all dp ranks
  i64 seq = 0;                      // 0: config.seq_length
  DType dtype = DType::f32;         // compute precision
  bool position_ids = false;        // rope reads them from the data (documents restart at 0)
  bool document_starts = false;     // attention stays inside documents
  bool dropout = true;              // off for evaluation
  u64 seed = 1234;                  // of dropout
  std::optional<GptPiece> piece{};  // none: all of it
};

struct Gpt {
  std::vector<Parameter> parameters;
  Value input;   // [s,b,h]: a leaf, "in" and the suffix; of pieces after the first
  Value output;  // [s,b,h], of pieces before the last
  Value logits;  // [s,b,v]
  Value loss;    // []: sum of the masked losses; its type says over which axes it is still to be reduced
  Value tokens;  // []: sum of the mask
};

// Adds the model for generation: `tokens` new tokens of each of `batch` sequences, which follow `length` tokens whose
// keys and values lie in caches (leaves of role cache, updated in place). Data leaves: tokens, position_ids (i32 [s,b])
// with "/<tokens>" behind their names, so that programs of several sizes share parameters and caches, and length (i32
// []).
struct DecodeShape {
  i64 tokens = 1, batch = 1;
  i64 cache_length = 0;  // most tokens a sequence may have
  DType dtype = DType::f32;
};
Gpt build_gpt_decoder(Builder& b, const ModelConfig& config, const DecodeShape& shape, const ParallelStyle& style);

// Adds the model. Its data leaves: tokens, labels, position_ids, document_starts (i32 [s,b]), loss_mask (f32, in f64
// models f64, [s,b]), rows (i64 [b]: sample numbers); the ones it has no use for are left out. `config` must be
// resolved.
Gpt build_gpt(Builder& b, const ModelConfig& config, const GptShape& shape, const ParallelStyle& style);

}  // namespace megalith
