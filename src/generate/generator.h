// Text generation: the decoder's graph planned for a few chunk sizes over one set of weights and caches. A prompt goes
// through in the largest chunks that fit, then one token at a time. Several ranks may share it.
#pragma once
#include <functional>
#include <span>
#include <vector>

#include "generate/generation_ranks.h"
#include "generate/sampling.h"
#include "step/model_state.h"

namespace megalith {

class Generator {
 public:
  // `max_length`: most tokens of prompt and answer together. Error if the model's learned positions end before it.
  // All ranks call the constructor and generate() at the same time.
  Generator(const ModelConfig& model, DType compute, i64 max_length, const Backend& backend,
            const GenerationRanks& ranks = {});

  ModelState& weights() { return *state_; }

  // Appends up to `count` tokens to the prompt, calling `on_token` for each; stops early after any of `stops`.
  // Returns the new tokens, the same on all ranks. Error if the prompt is empty, too long, or holds an id outside the
  // vocabulary.
  std::vector<i32> generate(std::span<const i32> prompt, i64 count, std::span<const i32> stops,
                            const SamplingOptions& sampling, const std::function<void(i32)>& on_token = {});

 private:
  void plan(DType compute, const Backend& backend);
  void open(const Backend& backend);
  void check_request(std::span<const i32> prompt, i64 count, const SamplingOptions& sampling) const;
  // The logits of the last token; empty if another pipeline stage has them.
  std::vector<float> feed(std::span<const i32> tokens, i64 length);
  std::vector<float> run_chunk(int program, std::span<const i32> tokens, i64 length);

  ModelConfig model_;
  i64 max_length_;
  GenerationRanks ranks_;
  std::vector<Graph> graphs_;
  PlannedStep step_;
  std::unique_ptr<Interpreter> interpreter_;
  std::unique_ptr<ModelState> state_;
};

}  // namespace megalith
