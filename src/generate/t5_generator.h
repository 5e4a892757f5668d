// Text generation by an encoder-decoder. The text is read once. Then the decoder answers token by token. It has caches
// of its own keys and values, and of those that cross-attention reads.
#pragma once
#include <span>
#include <vector>

#include "generate/generation_ranks.h"
#include "generate/sampling.h"
#include "step/model_state.h"

namespace megalith {

class T5Generator {
 public:
  // For texts of `source` tokens and answers of at most `length`. Error if the model's learned positions end before.
  // All ranks call it and generate() at the same time. Their mesh has no pipeline.
  T5Generator(const ModelConfig& model, DType compute, i64 source, i64 length, const Backend& backend,
              const GenerationRanks& ranks = {});

  ModelState& weights() { return *state_; }

  // Encodes a text and starts a new answer. Error unless it has `source` tokens, all within the vocabulary.
  void read(std::span<const i32> text);
  // The decoder reads one more token, and returns the logits of the next one. Error after `length` tokens.
  std::vector<float> next(i32 token);

  // Up to `count` tokens of the answer to `text`, which begins after `start`; stops early after any of `stops`.
  std::vector<i32> generate(std::span<const i32> text, i32 start, i64 count, std::span<const i32> stops,
                            const SamplingOptions& sampling);

 private:
  void plan(DType compute, const Backend& backend);
  void open(const Backend& backend);
  void check_token(i32 id) const;
  void check_text(std::span<const i32> text) const;

  ModelConfig model_;
  i64 source_, length_, read_ = 0;  // read_: tokens that the decoder has read
  GenerationRanks ranks_;
  Graph encoding_, decoding_;
  PlannedStep step_;
  std::unique_ptr<Interpreter> interpreter_;
  std::unique_ptr<ModelState> state_;
};

}  // namespace megalith
