// `generate` for a T5: the decoder's answer to a text.
#pragma once
#include <string>

#include "generate/generation_ranks.h"
#include "generate/sampling.h"
#include "plan/interpreter.h"
#include "resume/stored_model.h"
#include "tokens/tokenizer.h"

namespace megalith {

struct AnswerRequest {
  std::string load, prompt;
  i64 ckpt_step = 0, tokens = 64;
  DType compute = DType::f32;
  SamplingOptions sampling;
};

// Prints the answer. `tokenizer`: nullptr if prompts and answers are token ids.
void answer(const AnswerRequest& request, const StoredModel& stored, const Tokenizer* tokenizer, const Backend& backend,
            const GenerationRanks& ranks);

}  // namespace megalith
