#include "train/open_t5_data.h"

#include <array>
#include <memory>

#include "data/masked_datasets.h"
#include "data/t5_samples.h"
#include "train/t5_tokens.h"

namespace megalith {
namespace {

// For each token id: whether the token continues a word, as "##ing" does.
std::vector<bool> goes_on(const Tokenizer& tokenizer) {
  std::vector<bool> out;
  for (i32 id = 0; id < tokenizer.vocab_size(); ++id)
    out.push_back(tokenizer.decode_bytes(std::array{id}).starts_with("##"));
  return out;
}

void take(const T5Tokens& tokens, T5Config& t5) {
  t5.bos = tokens.bos, t5.eos = tokens.eos, t5.pad = tokens.pad, t5.sentinels = tokens.sentinels;
}

void take_tokenizer(const TokenizerConfig& config, T5Config& t5) {
  TokenizerConfig plain = config;
  plain.hf_no_special_tokens = true;
  const std::unique_ptr<Tokenizer> tokenizer = make_tokenizer(plain);
  take(t5_tokens(*tokenizer), t5);
  for (const char* text : {"[CLS]", "[SEP]"})
    if (const i32 id = tokenizer->find(text); id != Tokenizer::kNone) t5.kept.push_back(id);
  check(!t5.sentinels.empty(),
        "the tokenizer has no sentinels <extra_id_0>, <extra_id_1>, ..: give --vocab-extra-ids 100, or "
        "--tokenizer-type HuggingFaceTokenizer --tokenizer-model DIR, of a T5's tokenizer.json");
  t5.masking.continues_word = [parts = goes_on(*tokenizer)](i32 id) {
    return id >= 0 && id < i32(parts.size()) && parts[std::size_t(id)];
  };
}

}  // namespace

Datasets open_t5_data(const Options& o, const SampleCounts& counts) {
  const i64 vocab_size = o.model.vocab_size;
  T5Config t5{
      .seq_length = o.model.seq_length, .seq_length_decoder = o.model.t5.decoder_seq_length, .seed = u32(o.data.seed)};
  if (!o.data.mock_data) t5.cache_path = o.data.data_cache_path;
  t5.masking.probability = o.data.mask_prob, t5.masking.short_probability = o.data.short_seq_prob;
  i64 mock_tokens = vocab_size;
  if (!o.tokenizer.type.empty() && o.tokenizer.type != "NullTokenizer") {
    take_tokenizer(o.tokenizer, t5);
  } else {
    check(o.data.mock_data,
          "a T5 needs a tokenizer with sentinels: give --tokenizer-type BertWordPieceLowerCase --vocab-file vocab.txt "
          "--vocab-extra-ids 100, or --tokenizer-type HuggingFaceTokenizer --tokenizer-model DIR, of a T5's "
          "tokenizer.json");
    take(last_t5_tokens(vocab_size), t5);
    mock_tokens = t5.bos;
  }
  return build_masked_datasets(
      o.data, counts, mock_tokens,
      [&](std::shared_ptr<const TokenSource> sentences, const std::vector<i64>& documents, std::optional<i64> samples) {
        return std::make_shared<T5Samples>(std::move(sentences), documents, samples, t5, vocab_size);
      });
}

}  // namespace megalith
