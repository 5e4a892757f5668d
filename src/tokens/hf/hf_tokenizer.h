// The tokenizer of a tokenizer.json. It finds added tokens, normalizes, cuts the text into pieces, encodes each
// piece, and adds special tokens.
#pragma once
#include <memory>
#include <string>

#include "tokens/hf/added_tokens.h"
#include "tokens/hf/model.h"
#include "tokens/hf/post_processor.h"
#include "tokens/hf/pre_tokenizer.h"
#include "tokens/tokenizer.h"

namespace megalith::hf {

struct HfParts {
  std::string_view name;  // the spelling of --tokenizer-type
  std::string where;      // the file's name, for errors
  std::unique_ptr<Model> model;
  Json normalizer, decoder;
  AddedList added_tokens;
  PreTokenizerPlan plan;
  Surround surround;           // ids that encode() adds
  bool split_special = false;  // special tokens in the text are split like any other text
};

class HfTokenizer : public Tokenizer {
 public:
  explicit HfTokenizer(HfParts parts);

  std::string_view name() const override { return parts_.name; }
  i64 vocab_size() const override { return i64(tokens_.size()); }
  i32 eod() const override { return eod_; }
  i32 bos() const override { return bos_; }
  i32 pad() const override { return pad_; }
  bool is_special(i32 id) const override;
  i32 find(std::string_view token) const override;
  std::unique_ptr<TextEncoder> encoder() const override;
  std::string decode_bytes(std::span<const i32> ids) const override;

  void set_special(i32 eod, i32 bos, i32 pad) { eod_ = eod, bos_ = bos, pad_ = pad; }
  void set_other_special(std::vector<i32> ids) { other_special_ = std::move(ids); }  // without eod, bos and pad
  void set_surround(Surround s);  // fails if an id is outside the vocabulary
  const HfParts& parts() const { return parts_; }
  const AddedTokens& added() const { return added_; }

 private:
  HfParts parts_;
  AddedTokens added_;
  std::vector<std::string> tokens_;  // by id, with the added ones
  i32 eod_ = kNone, bos_ = kNone, pad_ = kNone;
  std::vector<i32> other_special_;
};

inline constexpr std::string_view kHuggingFaceType = "HuggingFaceTokenizer";

// --tokenizer-model: a tokenizer.json or a directory with one. The accompanying tokenizer_config.json and
// special_tokens_map.json name eos, bos and pad.
std::unique_ptr<Tokenizer> make_hugging_face_tokenizer(const TokenizerConfig& config);

// BertWordPieceLowerCase and BertWordPieceCase: --vocab-file is vocab.txt.
std::unique_ptr<Tokenizer> make_bert_lower_tokenizer(const TokenizerConfig& config);
std::unique_ptr<Tokenizer> make_bert_case_tokenizer(const TokenizerConfig& config);

}  // namespace megalith::hf
