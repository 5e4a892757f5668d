// `megalith generate`: continues prompts with a checkpoint's model.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <exception>

#include "cli/answer.h"
#include "cli/command.h"
#include "cli/fill_masks.h"
#include "cli/generate_others.h"
#include "cli/own_flags.h"
#include "cli/share_cores.h"
#include "cli/share_generation.h"
#include "comm/on_all_ranks.h"
#include "complete/hub_names.h"
#include "complete/tokenizer_source.h"
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
  ParallelConfig layout;
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
  f.add("tensor-model-parallel-size", c.layout.tensor_model_parallel_size, "Ranks that share each layer.");
  f.add("pipeline-model-parallel-size", c.layout.pipeline_model_parallel_size, "Ranks that divide the layers.");
  f.add("expert-model-parallel-size", c.layout.expert_model_parallel_size,
        "Ranks of those that share each layer, which divide its experts.");
  f.add("expert-tensor-parallel-size", c.layout.expert_tensor_parallel_size,
        "Ranks that share each expert; 0: as many as share each layer.");
  f.add("distributed-timeout-minutes", c.layout.distributed_timeout_minutes,
        "How long a rank waits for others before it gives up.");
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

void settle(GenerateFlags& c, FlagChecks& checks) {
  checks.given({{"--load", !c.load.empty()}, {"--prompt", !c.prompt.empty()}});
  constexpr i64 kMost = i64(1) << 31;
  checks.hold(c.tokens_to_generate > 0 && c.tokens_to_generate < kMost, "--tokens-to-generate is {}: want 1 to {}",
              c.tokens_to_generate, kMost - 1);
  check_step(checks, c.ckpt_step);
  c.sampling.seed = u64(c.seed);
  if (c.greedy) c.sampling.temperature = 0;
  checks.run([&] { check_sampling(c.sampling); });
  checks.run([&] { c.load = find_on_hub(c.load, "--load"); });
  checks.run([&] { find_tokenizer_on_hub(c.tokenizer); });
  c.device.timeout_seconds = 60 * c.layout.distributed_timeout_minutes;
}

// What all ranks read before they share the work.
struct GenerationStart {
  StoredModel stored;
  std::unique_ptr<Tokenizer> tokenizer;  // nullptr: a T5's prompt and answer are token ids
  GenerationRanks ranks;
  std::unique_ptr<Backend> backend;
  DType compute = DType::f32;
};

GenerationStart open_model(GenerateFlags& c, Ranks& ranks) {
  GenerationStart out;
  out.stored = read_stored_model(c.load, c.ckpt_step), out.compute = c.bf16 ? DType::bf16 : DType::f32;
  ModelConfig& model = out.stored.model;
  model.padded_vocab_size = 0;
  model.resolve();
  check(!model.retrieves(), "{} holds a RETRO, for which generation is not built: evaluate prints its loss", c.load);
  out.ranks = share_generation(c.layout, model, ranks);
  const bool is_bert = model.architecture == Architecture::bert;
  // Samples of a T5 have no special tokens around a text. For other models their tokenizer decides.
  const bool own_t5 = model.is_t5() && !out.stored.decoder_start;
  if (is_bert || own_t5) c.tokenizer.hf_no_special_tokens = out.stored.tokenizer.hf_no_special_tokens = true;
  out.tokenizer = find_tokenizer(c.tokenizer, out.stored, c.load);
  if (is_bert) {
    check_draws_nothing(c);
    check(out.tokenizer != nullptr,
          "{} names no tokenizer: give --tokenizer-type BertWordPieceLowerCase --vocab-file FILE", c.load);
  } else {
    check(out.tokenizer || c.prompt.find_first_not_of("0123456789 \t\n") == std::string::npos,
          "{} names no tokenizer: give --tokenizer-type, or a prompt of token ids, as \"12 7\"", c.load);
  }
  if (!out.tokenizer && !model.is_t5()) {
    TokenizerConfig numbers;
    numbers.type = "NullTokenizer", numbers.vocab_size = model.vocab_size;
    out.tokenizer = make_tokenizer(numbers);
  }
  out.backend = make_backend(c.device, &ranks);
  return out;
}

void continue_prompt(const GenerateFlags& c, const GenerationStart& o) {
  std::vector<i32> prompt;
  o.ranks.together([&] { prompt = o.tokenizer->encode(c.prompt); });
  Generator generator(o.stored.model, o.compute, i64(prompt.size()) + c.tokens_to_generate, *o.backend, o.ranks);
  o.ranks.together([&] { load_named_weights(c.load, c.ckpt_step, generator.weights()); });
  // Instruct models end a turn by other tokens than a document. Each of them stops.
  std::vector<i32> stops(o.stored.ends_of_text.begin(), o.stored.ends_of_text.end());
  stops.push_back(o.tokenizer->eod());
  std::vector<i32> tokens = generator.generate(prompt, c.tokens_to_generate, stops, c.sampling);
  if (!tokens.empty() && std::ranges::count(stops, tokens.back()) > 0) tokens.pop_back();
  const bool numbers = o.tokenizer->name() == "NullTokenizer";
  log::say("{}{}{}", c.prompt, numbers ? " " : "", o.tokenizer->decode(tokens));
}

// All ranks call it.
void generate(GenerateFlags& c, Ranks& ranks) {
  GenerationStart o;
  on_all_ranks(ranks, [&] { o = open_model(c, ranks); });
  const ModelConfig& model = o.stored.model;
  if (model.architecture == Architecture::bert) {
    const i64 guesses = c.sampling.top_k > 0 ? c.sampling.top_k : kGuesses;
    fill_masks({c.load, c.prompt, c.ckpt_step, o.compute, guesses}, model, *o.tokenizer, *o.backend);
  } else if (model.is_t5()) {
    answer({c.load, c.prompt, c.ckpt_step, c.tokens_to_generate, o.compute, c.sampling}, o.stored, o.tokenizer.get(),
           *o.backend, o.ranks);
  } else {
    continue_prompt(c, o);
  }
}

}  // namespace

int command_generate(int argc, const char* const* argv) {
  const Place place = find_place([](const char* name) -> const char* { return std::getenv(name); });
  if (place.rank > 0) log::mute();
  GenerateFlags c;
  std::exception_ptr mistake;  // thrown after the ranks connect, so only one of them prints it
  try {
    if (!read_flags(c, argc, argv, generate_others(), [&](FlagChecks& checks) { settle(c, checks); })) return 0;
  } catch (const Error&) {
    mistake = std::current_exception();
  }
  settle_drivers();
  const std::unique_ptr<Ranks> ranks = join(place, {.timeout_seconds = 60 * c.layout.distributed_timeout_minutes});
  share_cores(ranks->place());
  return tell_errors(*ranks, [&] {
    on_all_ranks(*ranks, [&] {
      if (mistake) std::rethrow_exception(mistake);
    });
    generate(c, *ranks);
    return 0;
  });
}

}  // namespace megalith
