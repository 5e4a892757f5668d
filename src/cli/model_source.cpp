#include "cli/model_source.h"

#include <malloc.h>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/log.h"
#include "base/parse_json.h"
#include "ckpt/hf/hf_config.h"
#include "ckpt/native/checkpoint_layout.h"
#include "ckpt/tensors/files.h"
#include "cli/absent_tokenizer.h"
#include "cli/hub_names.h"
#include "resume/non_persistent.h"
#include "settings/precision.h"

namespace megalith {

namespace fs = std::filesystem;

// Of a directory with a vocab.txt, as in BertTokenizer of transformers. Sentinels follow the vocabulary.
static TokenizerConfig tokenizer_of_words(const std::string& dir, TokenizerConfig c) {
  c.type = "BertWordPieceLowerCase", c.vocab_file = dir + "/vocab.txt";
  const std::string path = dir + "/tokenizer_config.json";
  if (!fs::exists(path)) return c;
  const auto told = parse_json<nlohmann::json>(read_text(path));
  check(told.is_object(), "{} is not a JSON object", path);
  if (const auto lower = told.find("do_lower_case"); lower != told.end() && *lower == false)
    c.type = "BertWordPieceCase";
  if (const auto more = told.find("additional_special_tokens"); more != told.end() && more->is_array())
    while (std::ranges::count(*more, nlohmann::json(sentinel_name(c.vocab_extra_ids))) > 0) ++c.vocab_extra_ids;
  return c;
}

TokenizerConfig choose_tokenizer(const TokenizerConfig& flags, const StoredModel& stored, const std::string& dir) {
  TokenizerConfig c = flags;
  if (!flags.type.empty()) {
    if (c.vocab_size == 0)
      c.vocab_size = stored.model.vocab_size;  // the vocabulary size of NullTokenizer, which is the model's
    return c;
  }
  if (!stored.tokenizer.type.empty()) return stored.tokenizer;
  c = {};
  c.hf_no_special_tokens = flags.hf_no_special_tokens;
  if (fs::exists(dir + "/tokenizer.json")) {
    c.type = "HuggingFaceTokenizer", c.tokenizer_model = dir;
  } else if (fs::exists(dir + "/vocab.json") && fs::exists(dir + "/merges.txt")) {
    const bool says_more = fs::exists(dir + "/tokenizer_config.json") || fs::exists(dir + "/added_tokens.json") ||
                           fs::exists(dir + "/special_tokens_map.json");
    if (says_more) c.type = "HuggingFaceTokenizer", c.tokenizer_model = dir;
    if (says_more) return c;
    c.type = "GPT2BPETokenizer", c.vocab_file = dir + "/vocab.json", c.merge_file = dir + "/merges.txt";
  } else if (fs::exists(dir + "/vocab.txt")) {
    return tokenizer_of_words(dir, c);
  }
  return c;
}

std::unique_ptr<Tokenizer> find_tokenizer(const TokenizerConfig& flags, const StoredModel& stored,
                                          const std::string& dir) {
  const TokenizerConfig c = choose_tokenizer(flags, stored, dir);
  return c.type.empty() ? nullptr : make_tokenizer(c);
}

void load_named_weights(const std::string& dir, i64 step, ModelState& model) {
  AnyOpenOptions open{.verify = false, .or_older = false};
  if (step > 0) open.iteration = step;
  const AnyCheckpoint named = open_any_checkpoint(dir, open);
  try {
    load_weights(named.path, 0, model);
  } catch (const DamagedCheckpoint&) {  // its numbers are read here for the first time
    open.verify = true;
    (void)open_any_checkpoint(dir, open);
    throw;
  }
}

// The model of --load. If it is missing or damaged, the model of the run's copies.
static std::optional<StoredModel> find_stored_model(const TrainConfig& t) {
  const std::string copy = newest_non_persistent_here(t);
  try {
    if (const auto place = find_loadable(t.load, t.ckpt_step)) return read_stored_model(*place, t.ckpt_step);
  } catch (const Error&) {
    if (copy.empty()) throw;
  }
  return copy.empty() ? std::nullopt : std::optional(read_stored_model(copy, 0));
}

// The stored model, unless the flags describe one (--num-layers). Flags override its settings; if the difference
// matters, loading refuses it.
static StoredModel stored_model(Options& o) {
  if (o.train.load.empty()) return {};
  const std::optional<StoredModel> found = find_stored_model(o.train);
  if (!found || o.given.has("num-layers")) return found.value_or(StoredModel());
  const StoredModel& stored = *found;
  const Architecture kind = stored.model.architecture;
  check(!o.trains || *o.trains == kind, "--load {} holds a {}, and this command trains a {}: use the command for it",
        o.train.load, name_of(kind), name_of(*o.trains));
  ModelConfig model = stored.model;
  model.padded_vocab_size = 0;
  model.make_vocab_size_divisible_by = o.model.make_vocab_size_divisible_by;
  model.attention_dropout = o.model.attention_dropout, model.hidden_dropout = o.model.hidden_dropout;
  config::FieldList flags = config::fields_of(o.model), merged = config::fields_of(model);
  for (config::Field& field : merged.all())
    if (o.given.has(field.name)) field.set(flags.find(field.name)->values(), "--" + field.name);
  o.model = model;
  return stored;
}

// A lower bound: the logits, and one hidden state for each layer.
static double least_activation_gib(const Options& o) {
  const ModelConfig& m = o.model;
  const ParallelConfig& p = o.parallel;
  const i64 ranks = p.tensor_model_parallel_size * p.stages() * p.context_parallel_size;
  const double tokens = double(m.seq_length) * double(o.train.micro_batch_size),
               size = double(size_of(precision_of(o).activations));
  return tokens * double(m.vocab_size + m.num_layers * m.hidden_size) * size / double(ranks) / double(1 << 30);
}

// config.json has only the longest sequence, which may be far longer than intended.
static void tell_seq_length(const Options& o) {
  if (o.given.has("seq-length") || o.given.has("num-layers") || !is_hf_directory(o.train.load)) return;
  log::say(
      "--seq-length is not given: the run uses the model's longest, {} tokens, with which a micro-batch's activations "
      "need at least {:.3g} GiB a rank; give --seq-length for less",
      o.model.seq_length, least_activation_gib(o));
}

// The padding, whose labels are masked. If it is also another special token, the two are the same id. By default it
// is then trained like any other token, as in Megatron Core.
static i64 padding_of(const Tokenizer& tokenizer, Options& o) {
  const i32 pad = tokenizer.pad();
  if (!tokenizer.is_special(pad)) return pad;
  const bool allowed = o.data.allow_ambiguous_pad_tokens;
  o.notes.push_back(fmt::format("warning: the tokenizer's padding, token {}, is another special token too{}: {}", pad,
                                pad == tokenizer.eod() ? " (its end of text)" : "",
                                allowed ? "with --allow-ambiguous-pad-tokens no such token is trained"
                                        : "it is not used as padding, and these tokens are trained like any other"));
  return allowed ? pad : Tokenizer::kNone;
}

// Runs f, and adds its error to the options' mistakes. False then.
static bool or_tell(Options& o, const std::function<void()>& f) {
  try {
    f();
    return true;
  } catch (const Error& e) {
    o.wrong.mistakes.push_back(e.what());
    return false;
  }
}

// As Megatron's pretrain_gpt.py: GPT-2's files if no type is given.
static void choose_type(Options& o, const StoredModel& stored) {
  TokenizerConfig& t = o.tokenizer;
  if (t.type.empty() && !stored.tokenizer.type.empty()) t = stored.tokenizer;
  if (t.type.empty() && !t.vocab_file.empty() && !t.merge_file.empty()) t.type = "GPT2BPETokenizer";
  const bool is_bert = o.model.architecture == Architecture::bert;  // pretrain_bert.py
  if (t.type.empty() && !t.vocab_file.empty() && is_bert) t.type = "BertWordPieceLowerCase";
}

// For a plan without the tokenizer's files: true if its vocabulary is public.
static bool plan_without_files(Options& o) {
  const std::string file = absent_file(o.tokenizer);
  if (!o.train.dry_run || file.empty()) return false;
  const std::optional<i64> entries = public_vocabulary(o.tokenizer);
  if (o.model.vocab_size == 0 && entries) {
    o.model.vocab_size = *entries;
    o.notes.push_back(fmt::format("{} {} does not exist: the plan uses its public vocabulary of {} entries",
                                  o.tokenizer.type, file, *entries));
  }
  if (o.data.mock_data) o.data.eod = o.model.vocab_size - 1;  // synthetic documents have any tokens
  return o.model.vocab_size != 0;
}

// The vocabulary and its special tokens.
static void take_tokenizer(Options& o, const StoredModel& stored) {
  choose_type(o, stored);
  try {
    find_tokenizer_on_hub(o.tokenizer);
  } catch (const Error&) {
    if (!plan_without_files(o)) throw;
    return;
  }
  if (plan_without_files(o)) return;
  if (o.tokenizer.type == "NullTokenizer" || o.tokenizer.type == "TikTokenizer")
    o.tokenizer.vocab_size = o.model.vocab_size;
  const bool knows_words = o.model.architecture == Architecture::bert || o.model.is_t5();  // BERT may mask whole words
  if (o.data.sft || o.data.fim.on || knows_words)  // the run itself asks the tokenizer
    o.tokenizer = choose_tokenizer(o.tokenizer, stored, o.train.load);
  if (const auto tokenizer = find_tokenizer(o.tokenizer, stored, o.train.load)) {
    if (o.model.vocab_size == 0) o.model.vocab_size = tokenizer->vocab_size();
    check(o.model.vocab_size >= tokenizer->vocab_size(),
          "the tokenizer has {} tokens, the model a vocabulary of {}: use the "
          "tokenizer that belongs to the model",
          tokenizer->vocab_size(), o.model.vocab_size);
    o.data.eod = tokenizer->eod(), o.data.pad = padding_of(*tokenizer, o);
  } else if (o.data.mock_data) {
    o.data.eod = o.model.vocab_size - 1;  // synthetic documents have any tokens
  }
}

void complete_model(Options& o) {
  StoredModel stored;
  const auto read = [&] {
    o.train.load = find_on_hub(o.train.load, "--load");
    stored = stored_model(o);
  };
  const bool is_read = or_tell(o, read);
  if (!is_read && !o.given.has("num-layers")) refuse_wrong(o);  // otherwise the flags describe the model
  tell_seq_length(o);
  or_tell(o, [&] { take_tokenizer(o, stored); });
  o.data.seq_length = o.model.seq_length, o.data.vocab_size = o.model.vocab_size, o.data.seed = o.train.seed;
}

void complete_options(Options& o) {
  complete_model(o);
  finish_options(o);
  malloc_trim(0);  // the tokenizer's memory returns to the system: training does not need it
}

}  // namespace megalith
