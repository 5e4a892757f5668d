#include "cli/answer.h"

#include <fmt/ranges.h>

#include <algorithm>

#include "base/log.h"
#include "generate/t5_generator.h"
#include "resume/stored_model.h"
#include "train/t5_tokens.h"

namespace megalith {
namespace {

struct Ends {
  i32 start;
  std::vector<i32> stops;
};

// If the model's files do not define them: as in our samples.
Ends ends_of(const StoredModel& stored, const Tokenizer* tokenizer) {
  const i64 vocab = stored.model.vocab_size;
  Ends out{0, {stored.ends_of_text.begin(), stored.ends_of_text.end()}};
  if (tokenizer || !stored.decoder_start) {
    const T5Tokens tokens = tokenizer ? t5_tokens(*tokenizer) : last_t5_tokens(vocab);
    out.start = tokens.bos, out.stops.push_back(tokens.eos);
  }
  if (stored.decoder_start) out.start = i32(*stored.decoder_start);
  return out;
}

std::vector<i32> tokens_of(const std::string& prompt, const Tokenizer* tokenizer, i64 vocab) {
  if (tokenizer) return tokenizer->encode(prompt);
  TokenizerConfig numbers;
  numbers.type = "NullTokenizer", numbers.vocab_size = vocab;
  return make_tokenizer(numbers)->encode(prompt);
}

}  // namespace

void answer(const AnswerRequest& request, const StoredModel& stored, const Tokenizer* tokenizer, const Backend& backend,
            const GenerationRanks& ranks) {
  std::vector<i32> text;
  ranks.together([&] {
    text = tokens_of(request.prompt, tokenizer, stored.model.vocab_size);
    check(!text.empty(), "--prompt has no tokens: give a text");
  });
  const Ends ends = ends_of(stored, tokenizer);
  T5Generator generator(stored.model, request.compute, i64(text.size()), request.tokens, backend, ranks);
  ranks.together([&] { load_named_weights(request.load, request.ckpt_step, generator.weights()); });
  std::vector<i32> made = generator.generate(text, ends.start, request.tokens, ends.stops, request.sampling);
  if (!made.empty() && std::ranges::count(ends.stops, made.back()) > 0) made.pop_back();
  // A model may have more ids than its tokenizer. They have no text.
  if (tokenizer) std::erase_if(made, [&](i32 id) { return id >= tokenizer->vocab_size(); });
  log::say("{}", tokenizer ? tokenizer->decode(made) : fmt::format("{}", fmt::join(made, " ")));
}

}  // namespace megalith
