// The models of tokenizer.json files, which encode a piece of text.
#pragma once
#include <memory>
#include <string_view>
#include <vector>

#include "tokens/hf/json.h"
#include "tokens/hf/vocabulary.h"

namespace megalith::hf {

// Each thread needs its own.
class ModelEncoder {
 public:
  virtual ~ModelEncoder() = default;
  // Appends the ids of a piece, which is not empty. `text` contains the piece and may be read to its end.
  virtual void encode(std::string_view text, size_t begin, size_t end, std::vector<i32>& out) = 0;
  virtual void finish(std::vector<i32>&) {}  // called after the last piece of a text
};

class Model {
 public:
  virtual ~Model() = default;
  const Vocabulary& vocabulary() const { return vocabulary_; }
  virtual std::unique_ptr<ModelEncoder> encoder() const = 0;
  // For pieces that are plain bytes, not text in GPT-2's alphabet. nullptr if the model has no such form.
  virtual const ByteBpe* byte_bpe() const { return nullptr; }

 protected:
  explicit Model(Vocabulary v) : vocabulary_(std::move(v)) {}
  Vocabulary vocabulary_;
};

// Fails, naming `where`, on an invalid or unsupported model.
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

// The ids of <0x00> ... <0xFF>; kNone for missing ones.
std::vector<i32> byte_tokens(const Vocabulary& v);

}  // namespace megalith::hf
