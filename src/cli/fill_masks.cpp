#include "cli/fill_masks.h"

#include <array>

#include "base/log.h"
#include "generate/mask_filler.h"
#include "resume/stored_model.h"

namespace megalith {
namespace {

constexpr std::string_view kMask = "[MASK]";

i32 needed_token(const Tokenizer& tokenizer, std::string_view text) {
  const i32 id = tokenizer.find(text);
  check(id != Tokenizer::kNone, "the tokenizer has no token {}: give the one that belongs to the model", text);
  return id;
}

// A token as text, without the mark of a continuation piece.
std::string text_of(const Tokenizer& tokenizer, i32 id) {
  std::string text = tokenizer.decode(std::array{id});
  while (text.starts_with(' ')) text.erase(0, 1);
  return text;
}

struct MaskedText {
  std::vector<i32> tokens;  // [CLS] ... [SEP]
  std::vector<i64> masks;   // positions
};

// The text between masks is tokenized separately, so no tokenizer can change a mask.
MaskedText tokenize(std::string_view prompt, const Tokenizer& tokenizer) {
  MaskedText out{{needed_token(tokenizer, "[CLS]")}, {}};
  const i32 mask = needed_token(tokenizer, kMask);
  for (;;) {
    const size_t end = prompt.find(kMask);
    const std::vector<i32> part = tokenizer.encode(prompt.substr(0, end));
    out.tokens.insert(out.tokens.end(), part.begin(), part.end());
    if (end == prompt.npos) break;
    out.masks.push_back(i64(out.tokens.size())), out.tokens.push_back(mask);
    prompt.remove_prefix(end + kMask.size());
  }
  check(!out.masks.empty(), "--prompt has no {}: put it where a token is wanted", kMask);
  out.tokens.push_back(needed_token(tokenizer, "[SEP]"));
  return out;
}

}  // namespace

void fill_masks(const MaskedPrompt& prompt, const ModelConfig& model, const Tokenizer& tokenizer,
                const Backend& backend) {
  const MaskedText text = tokenize(prompt.text, tokenizer);
  MaskFiller filler(model, prompt.compute, i64(text.tokens.size()), backend);
  load_named_weights(prompt.load, prompt.ckpt_step, filler.weights());
  const auto guesses = filler.guess(text.tokens, text.masks, prompt.guesses, tokenizer.vocab_size());
  std::string filled = prompt.text;
  size_t at = 0;
  for (const std::vector<Guess>& best : guesses) {
    const std::string token = text_of(tokenizer, best.at(0).token);
    at = filled.find(kMask, at);
    filled.replace(at, kMask.size(), token), at += token.size();  // the token may itself be a mask
  }
  log::say("{}", filled);
  for (size_t i = 0; i < guesses.size(); ++i) {
    std::string line = fmt::format("{} {}:", kMask, i + 1);
    for (const Guess& g : guesses[i])
      line += fmt::format("{} {} {:.4f}", &g == &guesses[i][0] ? "" : ",", text_of(tokenizer, g.token), g.probability);
    log::say("{}", line);
  }
}

}  // namespace megalith
