// WordPiece: the longest token that is a prefix of the word, then the longest continuation token, and so on. A word
// that has no such tokens, or is too long, is unknown. WordLevel: whole words.
#include "base/check.h"
#include "base/escape.h"
#include "tokens/byte_trie.h"
#include "tokens/hf/model.h"
#include "tokens/unicode.h"

namespace megalith::hf {

namespace {

[[noreturn]] void fail_unknown(std::string_view token) {
  fail("the unk_token \"{}\" of the tokenizer is not in its vocabulary", escape_controls(token));
}

class WordPieceModel : public Model {
 public:
  WordPieceModel(Vocabulary v, WordPieceParts parts) : Model(std::move(v)), parts_(std::move(parts)) {
    unknown_ = vocabulary_.find(parts_.unknown);
    const auto& tokens = vocabulary_.tokens();
    for (size_t id = 0; id < tokens.size(); ++id) {
      const std::string_view token = tokens[id];
      begins_.insert(token, i32(id));
      if (token.starts_with(parts_.prefix)) continues_.insert(token.substr(parts_.prefix.size()), i32(id));
    }
  }
  std::unique_ptr<ModelEncoder> encoder() const override;

  WordPieceParts parts_;
  i32 unknown_;
  ByteTrie begins_, continues_;
};

class WordPieceEncoder : public ModelEncoder {
 public:
  explicit WordPieceEncoder(const WordPieceModel& model) : m_(model) {}

  void encode(std::string_view text, size_t begin, size_t end, std::vector<i32>& out) override {
    const size_t before = out.size();
    if (chars(text.substr(begin, end - begin)) <= m_.parts_.most_chars && add(text, begin, end, out)) return;
    out.resize(before);
    if (m_.unknown_ == Vocabulary::kNone) fail_unknown(m_.parts_.unknown);
    out.push_back(m_.unknown_);
  }

 private:
  static i64 chars(std::string_view word) {
    i64 count = 0;
    for (char c : word) count += (u8(c) & 0xC0) != 0x80;
    return count;
  }

  bool add(std::string_view text, size_t begin, size_t end, std::vector<i32>& out) const {
    const ByteTrie* trie = &m_.begins_;
    while (begin < end) {
      i32 longest = ByteTrie::kNone;
      size_t stop = begin;
      u32 node = ByteTrie::root();
      for (size_t k = begin; k < end; ++k) {
        node = trie->step(node, u8(text[k]));
        if (node == ByteTrie::kDead) break;
        if (trie->value(node) != ByteTrie::kNone) longest = trie->value(node), stop = k + 1;
      }
      if (longest == ByteTrie::kNone) return false;
      out.push_back(longest);
      begin = stop;
      trie = &m_.continues_;
    }
    return true;
  }

  const WordPieceModel& m_;
};

std::unique_ptr<ModelEncoder> WordPieceModel::encoder() const { return std::make_unique<WordPieceEncoder>(*this); }

class WordLevelModel : public Model {
 public:
  WordLevelModel(Vocabulary v, std::string unknown) : Model(std::move(v)), unknown_(std::move(unknown)) {}
  std::unique_ptr<ModelEncoder> encoder() const override;
  std::string unknown_;
};

class WordLevelEncoder : public ModelEncoder {
 public:
  explicit WordLevelEncoder(const WordLevelModel& model) : m_(model), unknown_(m_.vocabulary().find(m_.unknown_)) {}
  void encode(std::string_view text, size_t begin, size_t end, std::vector<i32>& out) override {
    const i32 id = m_.vocabulary().find(text.substr(begin, end - begin));
    if (id == Vocabulary::kNone && unknown_ == Vocabulary::kNone) fail_unknown(m_.unknown_);
    out.push_back(id != Vocabulary::kNone ? id : unknown_);
  }

 private:
  const WordLevelModel& m_;
  i32 unknown_;
};

std::unique_ptr<ModelEncoder> WordLevelModel::encoder() const { return std::make_unique<WordLevelEncoder>(*this); }

Vocabulary vocabulary_of(const Json& spec, std::string_view where) {
  const Json* vocab = spec.find("vocab");
  check(vocab && vocab->is_object(), "{}: \"vocab\" is missing or not an object", where);
  return Vocabulary::of_object(*vocab, where);
}

}  // namespace

std::unique_ptr<Model> make_word_piece(Vocabulary vocabulary, const WordPieceParts& parts) {
  return std::make_unique<WordPieceModel>(std::move(vocabulary), parts);
}

std::unique_ptr<Model> make_word_piece(const Json& spec, std::string_view where) {
  return make_word_piece(vocabulary_of(spec, where),
                         {.unknown = spec.text("unk_token", "[UNK]", where),
                          .prefix = spec.text("continuing_subword_prefix", "##", where),
                          .most_chars = spec.whole("max_input_chars_per_word", 100, where)});
}

std::unique_ptr<Model> make_word_level(const Json& spec, std::string_view where) {
  return std::make_unique<WordLevelModel>(vocabulary_of(spec, where), spec.text("unk_token", "<unk>", where));
}

std::vector<i32> byte_tokens(const Vocabulary& v) {
  std::vector<i32> ids;
  for (int b = 0; b < 256; ++b) ids.push_back(v.find(fmt::format("<0x{:02X}>", b)));
  return ids;
}

std::unique_ptr<Model> make_model(const Json& spec, std::string_view where) {
  check(spec.is_object(), "{}: \"model\" is missing or not an object", where);
  std::string type = spec.text("type", "", where);
  // Old files have no name of the model.
  if (type.empty()) {
    type = spec.find("merges")                      ? "BPE"
           : spec.find("unk_id")                    ? "Unigram"
           : spec.find("continuing_subword_prefix") ? "WordPiece"
                                                    : "WordLevel";
  }
  if (type == "BPE") return make_bpe(spec, where);
  if (type == "Unigram") return make_unigram(spec, where);
  if (type == "WordPiece") return make_word_piece(spec, where);
  if (type == "WordLevel") return make_word_level(spec, where);
  fail("{}: the model {} is not supported: BPE, Unigram, WordPiece and WordLevel are", where, type);
}

}  // namespace megalith::hf
