#include "train/open_data.h"

#include "base/log.h"
#include "data/fim.h"
#include "data/sft_datasets.h"
#include "tokens/chat/chat_file.h"
#include "train/open_bert_data.h"
#include "train/open_retro_data.h"
#include "train/open_t5_data.h"

namespace megalith {

static std::string chats_line(Split split, const SftReport& r, i64 seq_length) {
  const double places = double(r.samples * seq_length);
  std::string line =
      fmt::format("> SFT {}: {} conversations, {} tokens ({:.1f} % trained) in {} samples of {}: {:.1f} % full",
                  name_of(split), r.conversations, r.tokens, 100.0 * double(r.trained) / double(r.tokens), r.samples,
                  seq_length, 100.0 * double(r.tokens) / places);
  if (r.too_long > 0) line += fmt::format("; {} too long, {} tokens lost", r.too_long, r.lost_tokens);
  if (r.left_out > 0) line += fmt::format("; {} skipped", r.left_out);
  return line;
}

// The configuration of a tokenizer that adds no special tokens. The texts of this run already contain them.
static TokenizerConfig bare(TokenizerConfig config) {
  config.hf_no_special_tokens = true;
  return config;
}

static Datasets open_chats(const Options& o, const SampleCounts& counts) {
  TokenizerConfig t = bare(o.tokenizer);
  t.special_tokens_in_text = true;  // the template adds them
  const auto tokenizer = make_tokenizer(t);
  const chat::ChatFormat format = chat::find_chat_format(o.data.sft_prompt_format, t, o.data.sft_date);
  for (const std::string& mark : format.marks)
    if (tokenizer->find(mark) == Tokenizer::kNone)
      log::warn("the tokenizer has no token {}, which {} writes: the text becomes several tokens", mark,
                format.text.where());
  const auto read = [&](const std::string& file) {
    auto chats = std::make_shared<Conversations>(
        chat::read_chats(file, format, *tokenizer, {o.data.sft_skip_bad_lines, tokenizer->eod()}));
    if (chats->refused > 0) log::warn("{}: {} lines are skipped (--sft-skip-bad-lines)", file, chats->refused);
    for (const auto& [name, count] : chats->unread)
      log::warn("{}: \"{}\" occurs {} times, but the template does not read it: the text does not contain it", file,
                name, count);
    return std::shared_ptr<const Conversations>(std::move(chats));
  };
  const auto tell = [&](Split split, const SftReport& r) { log::say("{}", chats_line(split, r, o.data.seq_length)); };
  return build_sft_datasets(o.data, counts, read, tell);
}

static TextEdit fill_in_the_middle(const Options& o) {
  const std::shared_ptr<const Tokenizer> tokenizer = make_tokenizer(bare(o.tokenizer));
  return FillInTheMiddle(o.data.fim, o.data.seed,
                         {.find = [=](const std::string& token) { return tokenizer->find(token); },
                          .decode = [=](std::span<const i32> tokens) { return tokenizer->decode(tokens); },
                          .encode = [=](std::string_view text) { return tokenizer->encode(text); }});
}

static Datasets open_decoder_data(const Options& o, const SampleCounts& counts) {
  if (o.data.sft) return open_chats(o, counts);
  return build_datasets(o.data, counts, o.data.fim.on ? fill_in_the_middle(o) : TextEdit());
}

Datasets open_datasets(const Options& o, const SampleCounts& counts) {
  using Open = Datasets (*)(const Options&, const SampleCounts&);
  static constexpr Open kOpen[] = {open_decoder_data, open_bert_data, open_t5_data,
                                   open_retro_data};  // by Architecture
  return kOpen[size_t(o.model.architecture)](o, counts);
}

}  // namespace megalith
