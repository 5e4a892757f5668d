// Text generation: the decoder's graph planned for a few chunk sizes over one set of weights and caches. A prompt goes
// through in the largest chunks that fit, then one token at a time.
#pragma once
#include <functional>
#include <span>
#include <vector>

#include "generate/sampling.h"
#include "step/model_state.h"

namespace megalith {

class Generator {
 public:
  // `max_length`: most tokens of prompt and answer together. Error if the model's learned positions end before it.
  Generator(const ModelConfig& model, DType compute, i64 max_length, const Backend& backend);

  ModelState& weights() { return *state_; }

  // Appends up to `count` tokens to the prompt, calling `on_token` for each; stops early after any of `stops`.
  // Returns the new tokens. Error if the prompt is empty, too long, or holds an id outside the vocabulary.
  std::vector<i32> generate(std::span<const i32> prompt, i64 count, std::span<const i32> stops,
                            const SamplingOptions& sampling, const std::function<void(i32)>& on_token = {});

 private:
  std::vector<float> feed(std::span<const i32> tokens, i64 length);  // logits of the last token
  std::vector<float> run_chunk(int program, std::span<const i32> tokens, i64 length);

  ModelConfig model_;
  i64 max_length_;
  std::vector<Graph> graphs_;
  PlannedStep step_;
  std::unique_ptr<Interpreter> interpreter_;
  std::unique_ptr<ModelState> state_;
};

}  // namespace megalith
