#include "train/open_t5_data.h"

#include <array>
#include <memory>

#include "data/masked_datasets.h"
#include "data/t5_samples.h"

namespace megalith {
namespace {

constexpr i64 kMostSentinels = 100;

// The first of the texts that is a token.
i32 first_token(const Tokenizer& tokenizer, std::initializer_list<const char*> texts, i32 otherwise) {
  for (const char* text : texts)
    if (const i32 id = tokenizer.find(text); id != Tokenizer::kNone) return id;
  return otherwise;
}

// By id whether a token goes on with a word: "##ing".
std::vector<bool> goes_on(const Tokenizer& tokenizer) {
  std::vector<bool> out;
  for (i32 id = 0; id < tokenizer.vocab_size(); ++id)
    out.push_back(tokenizer.decode_bytes(std::array{id}).starts_with("##"));
  return out;
}

void take_tokens(const TokenizerConfig& config, T5Config& t5) {
  TokenizerConfig plain = config;
  plain.hf_no_special_tokens = true;
  const std::unique_ptr<Tokenizer> tokenizer = make_tokenizer(plain);
  t5.pad = first_token(*tokenizer, {"[PAD]", "<pad>"}, std::max(0, tokenizer->pad()));
  t5.bos = first_token(*tokenizer, {"[CLS]"}, tokenizer->bos() == Tokenizer::kNone ? t5.pad : tokenizer->bos());
  t5.eos = first_token(*tokenizer, {"[SEP]", "</s>"}, tokenizer->eod());
  check(t5.eos != Tokenizer::kNone,
        "the tokenizer has no token for the end of a text, [SEP] or </s>: give another one");
  for (i64 i = 0; i < kMostSentinels; ++i)
    if (const i32 id = tokenizer->find(fmt::format("<extra_id_{}>", i)); id != Tokenizer::kNone)
      t5.sentinels.push_back(id);
  check(!t5.sentinels.empty(),
        "the tokenizer has no sentinels <extra_id_0>, <extra_id_1>, ..: give --tokenizer-type HuggingFaceTokenizer "
        "--tokenizer-model DIR, of a T5's tokenizer.json");
  t5.masking.continues_word = [parts = goes_on(*tokenizer)](i32 id) {
    return id >= 0 && id < i32(parts.size()) && parts[std::size_t(id)];
  };
}

// Of made-up data: the last ids. Returns how many are left.
i64 take_last_ids(i64 vocab_size, T5Config& t5) {
  constexpr i64 kSpecial = 3;
  check(vocab_size > 2 * kSpecial, "made-up data of a T5 with a vocabulary of {}: give --vocab-size 8 or more",
        vocab_size);
  const i64 sentinels = std::min(kMostSentinels, (vocab_size - kSpecial) / 2);
  const auto first = i32(vocab_size - kSpecial - sentinels);
  t5.bos = first, t5.eos = first + 1, t5.pad = first + 2;
  for (i32 i = 0; i < i32(sentinels); ++i) t5.sentinels.push_back(first + i32(kSpecial) + i);
  return first;
}

}  // namespace

Datasets open_t5_data(const Options& o, const SampleCounts& counts) {
  const i64 vocab_size = o.model.vocab_size;
  T5Config t5{
      .seq_length = o.model.seq_length, .seq_length_decoder = o.model.t5.decoder_seq_length, .seed = u32(o.data.seed)};
  t5.masking.probability = o.data.mask_prob, t5.masking.short_probability = o.data.short_seq_prob;
  i64 mock_tokens = vocab_size;
  if (!o.tokenizer.type.empty() && o.tokenizer.type != "NullTokenizer") {
    take_tokens(o.tokenizer, t5);
  } else {
    check(o.data.mock_data,
          "a T5 needs a tokenizer with sentinels: give --tokenizer-type HuggingFaceTokenizer --tokenizer-model DIR, of "
          "a T5's tokenizer.json");
    mock_tokens = take_last_ids(vocab_size, t5);
  }
  return build_masked_datasets(
      o.data, counts, mock_tokens,
      [&](std::shared_ptr<const TokenSource> sentences, const std::vector<i64>& documents, std::optional<i64> samples) {
        return std::make_shared<T5Samples>(std::move(sentences), documents, samples, t5, vocab_size);
      });
}

}  // namespace megalith
