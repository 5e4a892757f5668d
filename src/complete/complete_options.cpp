#include "complete/complete_options.h"

#include "base/log.h"
#include "ckpt/hf/hf_config.h"
#include "settings/precision.h"

namespace megalith {

// The model of --load, with the values of given flags. If a difference matters, loading refuses it.
static ModelConfig model_under_flags(const ModelConfig& stored, Options& o) {
  ModelConfig model = stored;
  model.padded_vocab_size = 0;
  model.make_vocab_size_divisible_by = o.model.make_vocab_size_divisible_by;
  model.attention_dropout = o.model.attention_dropout, model.hidden_dropout = o.model.hidden_dropout;
  config::FieldList flags = config::fields_of(o.model), merged = config::fields_of(model);
  for (config::Field& field : merged.all())
    if (o.given.has(field.name)) field.set(flags.find(field.name)->values(), "--" + field.name);
  return model;
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
  if (o.given.has("seq-length") || flags_describe_model(o) || !is_hf_directory(o.train.load)) return;
  log::say(
      "--seq-length is not given: the run uses the model's longest, {} tokens, with which a micro-batch's activations "
      "need at least {:.3g} GiB a rank; give --seq-length for less",
      o.model.seq_length, least_activation_gib(o));
}

// The padding, whose labels are masked. If it is also another special token, the two are the same id. By default it
// is then trained like any other token, as in Megatron Core.
static i64 padding_of(const TokenizerSource& tokenizer, Options& o) {
  if (!tokenizer.pad_is_special) return tokenizer.pad;
  const bool allowed = o.data.allow_ambiguous_pad_tokens;
  o.notes.push_back(fmt::format("warning: the tokenizer's padding, token {}, is another special token too{}: {}",
                                tokenizer.pad, tokenizer.pad == tokenizer.eod ? " (its end of text)" : "",
                                allowed ? "with --allow-ambiguous-pad-tokens no such token is trained"
                                        : "it is not used as padding, and these tokens are trained like any other"));
  return allowed ? tokenizer.pad : Tokenizer::kNone;
}

// The vocabulary and its special tokens.
static void take_tokenizer(Options& o, const TokenizerSource& source) {
  o.tokenizer = source.config;
  i64& size = o.model.vocab_size;
  if (size == 0 && source.entries > 0 && !source.absent.empty())
    o.notes.push_back(fmt::format("{} {} does not exist: the plan uses its public vocabulary of {} entries",
                                  source.config.type, source.absent, source.entries));
  if (size == 0) size = source.entries;
  if (source.is_read()) {
    if (size < source.entries)
      o.wrong.mistakes.push_back(fmt::format(
          "the tokenizer has {} tokens, the model a vocabulary of {}: use the tokenizer that belongs to the model",
          source.entries, size));
    o.data.eod = source.eod, o.data.pad = padding_of(source, o);
  } else if (o.data.mock_data) {
    o.data.eod = size - 1;  // synthetic documents have any tokens
  }
}

void complete_model(Options& o, const Sources& sources) {
  o.train.load = sources.load;
  for (const std::string& mistake : sources.mistakes) o.wrong.mistakes.push_back(mistake);
  if (!sources.knows_model) refuse_wrong(o);
  if (sources.stored && !flags_describe_model(o)) o.model = model_under_flags(sources.stored->model, o);
  tell_seq_length(o);
  take_tokenizer(o, sources.tokenizer);
  o.data.seq_length = o.model.seq_length, o.data.vocab_size = o.model.vocab_size, o.data.seed = o.train.seed;
}

void complete_options(Options& o, const Sources& sources) {
  complete_model(o, sources);
  finish_options(o);
}

}  // namespace megalith
