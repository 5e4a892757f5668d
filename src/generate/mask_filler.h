// The likeliest tokens in the place of masked ones: one forward of BERT over a text.
#pragma once
#include <span>
#include <vector>

#include "models/config.h"
#include "step/model_state.h"

namespace megalith {

struct Guess {
  i32 token = 0;
  double probability = 0;
};

class MaskFiller {
 public:
  // For texts of `length` tokens. Error if the model has fewer positions.
  MaskFiller(const ModelConfig& model, DType compute, i64 length, const Backend& backend);

  ModelState& weights() { return *state_; }

  // For each position of `at` the `count` likeliest tokens of the first `known` ids, the likeliest first. A model may
  // have more ids than its tokenizer. Error if the text is not of `length` tokens, or holds an id outside the
  // vocabulary.
  std::vector<std::vector<Guess>> guess(std::span<const i32> text, std::span<const i64> at, i64 count, i64 known);

 private:
  ModelConfig model_;
  PlannedStep step_;
  std::unique_ptr<Interpreter> interpreter_;
  std::unique_ptr<ModelState> state_;
};

}  // namespace megalith
