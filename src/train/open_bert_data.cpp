#include "train/open_bert_data.h"

#include <array>
#include <memory>

#include "data/bert_samples.h"
#include "data/masked_datasets.h"

namespace megalith {
namespace {

i32 special_token(const Tokenizer& tokenizer, const char* text) {
  const i32 id = tokenizer.find(text);
  check(id != Tokenizer::kNone,
        "the tokenizer has no token {}, which BERT needs: give --tokenizer-type BertWordPieceLowerCase --vocab-file "
        "vocab.txt, or another one that has it",
        text);
  return id;
}

// For each token id: whether the token continues a word, as "##ing" does.
std::vector<bool> word_parts(const Tokenizer& tokenizer) {
  std::vector<bool> out;
  for (i32 id = 0; id < tokenizer.vocab_size(); ++id)
    out.push_back(tokenizer.decode_bytes(std::array{id}).starts_with("##"));
  return out;
}

void take_tokenizer(const TokenizerConfig& config, BertConfig& bert) {
  TokenizerConfig plain = config;
  plain.hf_no_special_tokens = true;
  const std::unique_ptr<Tokenizer> tokenizer = make_tokenizer(plain);
  bert.cls = special_token(*tokenizer, "[CLS]"), bert.sep = special_token(*tokenizer, "[SEP]");
  bert.mask = special_token(*tokenizer, "[MASK]"), bert.pad = special_token(*tokenizer, "[PAD]");
  bert.vocab_size = tokenizer->vocab_size();
  bert.masking.continues_word = [parts = word_parts(*tokenizer)](i32 id) {
    return id >= 0 && id < i32(parts.size()) && parts[std::size_t(id)];
  };
}

}  // namespace

Datasets open_bert_data(const Options& o, const SampleCounts& counts) {
  BertConfig bert{.seq_length = o.data.seq_length,
                  .seed = u32(o.data.seed),
                  .sentence_order = o.model.bert.binary_head(),
                  .vocab_size = o.model.vocab_size};
  if (!o.data.mock_data) bert.cache_path = o.data.data_cache_path;
  bert.masking.probability = o.data.mask_prob, bert.masking.short_probability = o.data.short_seq_prob;
  i64 mock_tokens = bert.vocab_size;
  if (!o.tokenizer.type.empty() && o.tokenizer.type != "NullTokenizer") {
    take_tokenizer(o.tokenizer, bert);
  } else {
    check(o.data.mock_data,
          "BERT needs a tokenizer with [CLS], [SEP], [MASK] and [PAD]: give --tokenizer-type "
          "BertWordPieceLowerCase --vocab-file vocab.txt");
    mock_tokens -= 4;
    const auto first = i32(mock_tokens);
    bert.cls = first, bert.sep = first + 1, bert.mask = first + 2, bert.pad = first + 3;
  }
  return build_masked_datasets(
      o.data, counts, mock_tokens,
      [&](std::shared_ptr<const TokenSource> sentences, const std::vector<i64>& documents, std::optional<i64> samples) {
        return std::make_shared<BertSamples>(std::move(sentences), documents, samples, bert);
      });
}

}  // namespace megalith
