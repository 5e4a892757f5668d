// `megalith generate`: continues prompts with a checkpoint's model.
#include <algorithm>
#include <cstdio>

#include "cli/answer.h"
#include "cli/command.h"
#include "cli/fill_masks.h"
#include "cli/generate_others.h"
#include "cli/hub_names.h"
#include "cli/model_source.h"
#include "cli/own_flags.h"
#include "device/make_backend.h"
#include "generate/generator.h"

namespace megalith {

namespace {

constexpr i64 kGuesses = 5;  // for each [MASK]

struct GenerateFlags {
  std::string load, prompt;
  i64 ckpt_step = 0, tokens_to_generate = 64;
  SamplingOptions sampling;
  i64 seed = 1234;
  bool bf16 = false, greedy = false;
  DeviceOptions device;
  TokenizerConfig tokenizer;
};

void list_fields(GenerateFlags& c, config::FieldList& f) {
  f.group("Generation");
  f.add("load", c.load, "Checkpoint directory or Hugging Face model directory.").shown_as("DIR");
  f.add("ckpt-step", c.ckpt_step, "Iteration of the checkpoint; 0: the latest.");
  f.add("prompt", c.prompt,
        "Text to continue; without a tokenizer: token ids. BERT: a text with [MASK]. T5: a text to answer.");
  f.add("tokens-to-generate", c.tokens_to_generate, "Largest number of tokens to add.");
  f.add("temperature", c.sampling.temperature, "Divides the logits; 0: greedy.");
  f.add("top-k", c.sampling.top_k, "Only the k most likely tokens; 0: all. BERT: prints k of them; 0: 5.")
      .also("--top_k");
  f.add("top-p", c.sampling.top_p, "Only the most likely tokens that together reach this probability; 0: all.")
      .also("--top_p");
  f.add("greedy", c.greedy, "Always the most likely token.");
  f.add("seed", c.seed, "Of sampling.");
  f.add("bf16", c.bf16, "Compute in bf16.");
  list_fields(c.device, f);
  list_fields(c.tokenizer, f);
}

// A BERT draws no tokens, so flags of sampling have no meaning.
void check_draws_nothing(const GenerateFlags& c) {
  check(c.sampling.temperature == 1 && c.sampling.top_p == 0 &&
            c.tokens_to_generate == GenerateFlags().tokens_to_generate,
        "BERT fills masks with the most likely tokens: leave out --greedy, --temperature, --top-p and "
        "--tokens-to-generate; --top-k N lists N of them");
}

}  // namespace

int command_generate(int argc, const char* const* argv) {
  GenerateFlags c;
  if (!read_flags(c, argc, argv, generate_others())) return 0;
  check(!c.load.empty() && !c.prompt.empty(), "--load and --prompt are required");
  constexpr i64 kMost = i64(1) << 31;
  check(c.tokens_to_generate > 0 && c.tokens_to_generate < kMost, "--tokens-to-generate is {}: want 1 to {}",
        c.tokens_to_generate, kMost - 1);
  check_step(c.ckpt_step);
  c.sampling.seed = u64(c.seed);
  if (c.greedy) c.sampling.temperature = 0;
  check_sampling(c.sampling);
  c.load = find_on_hub(c.load, "--load");
  find_tokenizer_on_hub(c.tokenizer);
  StoredModel stored = read_stored_model(c.load, c.ckpt_step);
  stored.model.padded_vocab_size = 0;
  stored.model.resolve();
  check(!stored.model.retrieves(), "{} holds a RETRO, for which generation is not built: evaluate prints its loss",
        c.load);
  const bool is_bert = stored.model.architecture == Architecture::bert;
  // Samples of a T5 have no special tokens around a text. For other models their tokenizer decides.
  const bool own_t5 = stored.model.is_t5() && !stored.decoder_start;
  if (is_bert || own_t5) c.tokenizer.hf_no_special_tokens = stored.tokenizer.hf_no_special_tokens = true;
  auto tokenizer = find_tokenizer(c.tokenizer, stored, c.load);
  if (is_bert) {
    check_draws_nothing(c);
    check(tokenizer != nullptr, "{} names no tokenizer: give --tokenizer-type BertWordPieceLowerCase --vocab-file FILE",
          c.load);
    const i64 guesses = c.sampling.top_k > 0 ? c.sampling.top_k : kGuesses;
    fill_masks({c.load, c.prompt, c.ckpt_step, c.bf16 ? DType::bf16 : DType::f32, guesses}, stored.model, *tokenizer,
               *make_backend(c.device));
    return 0;
  }
  check(tokenizer || c.prompt.find_first_not_of("0123456789 \t\n") == std::string::npos,
        "{} names no tokenizer: give --tokenizer-type, or a prompt of token ids, as \"12 7\"", c.load);
  if (stored.model.is_t5()) {
    answer({c.load, c.prompt, c.ckpt_step, c.tokens_to_generate, c.bf16 ? DType::bf16 : DType::f32, c.sampling}, stored,
           tokenizer.get(), *make_backend(c.device));
    return 0;
  }
  if (!tokenizer) {
    TokenizerConfig numbers;
    numbers.type = "NullTokenizer", numbers.vocab_size = stored.model.vocab_size;
    tokenizer = make_tokenizer(numbers);
  }
  const std::vector<i32> prompt = tokenizer->encode(c.prompt);
  const auto backend = make_backend(c.device);
  Generator generator(stored.model, c.bf16 ? DType::bf16 : DType::f32, i64(prompt.size()) + c.tokens_to_generate,
                      *backend);
  load_named_weights(c.load, c.ckpt_step, generator.weights());
  // Instruct models end a turn by other tokens than a document. Each of them stops.
  std::vector<i32> stops(stored.ends_of_text.begin(), stored.ends_of_text.end());
  stops.push_back(tokenizer->eod());
  std::vector<i32> tokens = generator.generate(prompt, c.tokens_to_generate, stops, c.sampling);
  if (!tokens.empty() && std::ranges::count(stops, tokens.back()) > 0) tokens.pop_back();
  const bool numbers = tokenizer->name() == "NullTokenizer";
  log::say("{}{}{}", c.prompt, numbers ? " " : "", tokenizer->decode(tokens));
  return 0;
}

}  // namespace megalith
