// The models of tokenizer.json files: from a piece of text to token ids.
#pragma once
#include <memory>
#include <string_view>
#include <vector>

#include "tokens/hf/json.h"
#include "tokens/hf/vocabulary.h"

namespace megalith::hf {

// One per thread.
class ModelEncoder {
 public:
  virtual ~ModelEncoder() = default;
  // Appends the ids of a piece, which is not empty. `text` holds it and may be read to its end.
  virtual void encode(std::string_view text, size_t begin, size_t end, std::vector<i32>& out) = 0;
  virtual void finish(std::vector<i32>&) {}  // after the last piece of a text
};

class Model {
 public:
  virtual ~Model() = default;
  const Vocabulary& vocabulary() const { return vocabulary_; }
  virtual std::unique_ptr<ModelEncoder> encoder() const = 0;
  // For pieces that are plain bytes instead of text in GPT-2's alphabet; nullptr if the model cannot.
  virtual const ByteBpe* byte_bpe() const { return nullptr; }

 protected:
  explicit Model(Vocabulary v) : vocabulary_(std::move(v)) {}
  Vocabulary vocabulary_;
};

// Fails, naming `where`, if the model is broken or one that we don't have.
std::unique_ptr<Model> make_model(const Json& spec, std::string_view where);

std::unique_ptr<Model> make_bpe(const Json& spec, std::string_view where);
std::unique_ptr<Model> make_unigram(const Json& spec, std::string_view where);
// WordPiece and WordLevel.
std::unique_ptr<Model> make_word_piece(const Json& spec, std::string_view where);
std::unique_ptr<Model> make_word_level(const Json& spec, std::string_view where);

struct WordPieceParts {
  std::string unknown = "[UNK]", prefix = "##";
  i64 most_chars = 100;
};
std::unique_ptr<Model> make_word_piece(Vocabulary vocabulary, const WordPieceParts& parts);

// The ids of <0x00> ... <0xFF>; kNone for those that are missing.
std::vector<i32> byte_tokens(const Vocabulary& v);

}  // namespace megalith::hf
