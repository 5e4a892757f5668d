#include "tokens/sentencepiece_tokenizer.h"

#include <sentencepiece_processor.h>

#include <fstream>
#include <iterator>

#include "base/check.h"
#include "tokens/sentencepiece_bpe.h"
#include "tokens/sentencepiece_check.h"
#include "tokens/sentencepiece_unigram.h"

namespace megalith {

namespace {

using sentencepiece::SentencePieceProcessor;

class SentencePieceEncoder : public TextEncoder {
 public:
  explicit SentencePieceEncoder(const SentencePieceProcessor& model) : model_(model) {}
  void encode(std::string_view text, std::vector<i32>& out) override {
    const auto status = model_.Encode(text, &ids_);
    check(status.ok(), "SentencePiece cannot encode a text of {} bytes: {}", text.size(), status.ToString());
    out.insert(out.end(), ids_.begin(), ids_.end());
  }

 private:
  const SentencePieceProcessor& model_;
  std::vector<int> ids_;
};

// Library versions break ties differently. So we find the best path here, in the text that `Normalize` gives.
template <class Normalize>
class UnigramEncoder : public TextEncoder {
 public:
  UnigramEncoder(Normalize normalize, const SentencePieceUnigram& unigram)
      : normalize_(std::move(normalize)), unigram_(unigram) {}
  void encode(std::string_view text, std::vector<i32>& out) override {
    normalize_(text, normalized_);
    unigram_.encode(normalized_, path_, out);
  }

 private:
  Normalize normalize_;
  const SentencePieceUnigram& unigram_;
  std::string normalized_;
  UnigramPath<float> path_{SentencePieceUnigram::kLowest};
};

// Only the library knows which user-defined pieces are excluded from normalization. So we join the pieces that it
// gives.
struct NormalizeByLibrary {
  const SentencePieceProcessor& model;
  const SentencePieceUnigram& unigram;
  std::vector<std::string> pieces = {};
  void operator()(std::string_view text, std::string& out) {
    const auto status = model.Encode(text, &pieces);
    check(status.ok(), "SentencePiece cannot encode a text of {} bytes: {}", text.size(), status.ToString());
    out = unigram.normalized(pieces);
  }
};

class SentencePieceTokenizer : public Tokenizer {
 public:
  SentencePieceTokenizer(const std::string& file, const std::string& bytes, std::string type) : type_(std::move(type)) {
    const SentencePieceModel model = read_sentencepiece_model(bytes, file);
    load(file, bytes);
    check(model_.GetPieceSize() == int(model.pieces.size()),
          "--tokenizer-model {}: SentencePiece finds {} tokens instead of {}: the file is damaged", file,
          model_.GetPieceSize(), model.pieces.size());
    if (model.algorithm == SentencePieceModel::unigram) unigram_ = std::make_unique<SentencePieceUnigram>(model);
    if (!model.has_user_defined()) normalizer_ = std::make_unique<SentencePieceNormalizer>(model);
    if (SentencePieceBpe::covers(model)) bpe_ = std::make_unique<SentencePieceBpe>(model);
  }

  std::string_view name() const override { return type_; }
  i64 vocab_size() const override { return model_.GetPieceSize(); }
  i32 eod() const override { return model_.eos_id(); }
  i32 bos() const override { return model_.bos_id(); }
  i32 pad() const override { return model_.pad_id(); }
  bool is_special(i32 id) const override { return Tokenizer::is_special(id) || (id != kNone && id == model_.unk_id()); }
  i32 find(std::string_view token) const override {
    const int id = model_.PieceToId(token);
    return id == model_.unk_id() && model_.IdToPiece(id) != token ? kNone : id;
  }
  std::unique_ptr<TextEncoder> encoder() const override {
    if (bpe_) return bpe_->encoder();
    if (unigram_ && normalizer_) {
      const auto normalize = [&n = *normalizer_](std::string_view text, std::string& out) { n.normalize(text, out); };
      return std::make_unique<UnigramEncoder<decltype(normalize)>>(normalize, *unigram_);
    }
    if (unigram_) {
      return std::make_unique<UnigramEncoder<NormalizeByLibrary>>(NormalizeByLibrary{model_, *unigram_}, *unigram_);
    }
    return std::make_unique<SentencePieceEncoder>(model_);
  }

  std::string decode_bytes(std::span<const i32> ids) const override {
    for (i32 id : ids) {
      check(id >= 0 && id < vocab_size(), "token id {} is outside the vocabulary: want 0 to {}", id, vocab_size() - 1);
    }
    std::string text;
    const auto status = model_.Decode(std::vector<int>(ids.begin(), ids.end()), &text);
    check(status.ok(), "SentencePiece cannot decode {} ids: {}", ids.size(), status.ToString());
    return text;
  }

 private:
  // The library reports most errors by its status, others by exceptions.
  void load(const std::string& file, const std::string& bytes) {
    std::string what;
    try {
      const auto status = model_.LoadFromSerializedProto(bytes);
      if (!status.ok()) what = status.ToString();
    } catch (const std::exception& e) {
      what = e.what();
    }
    check(what.empty(), "--tokenizer-model {}: SentencePiece cannot read it: {}", file, what);
  }

  SentencePieceProcessor model_;
  std::unique_ptr<SentencePieceNormalizer> normalizer_;  // of a model without user-defined pieces
  std::unique_ptr<SentencePieceUnigram> unigram_;        // of a unigram model
  std::unique_ptr<SentencePieceBpe> bpe_;                // of a BPE model that it covers
  std::string type_;
};

}  // namespace

std::unique_ptr<Tokenizer> make_sentencepiece_tokenizer(const TokenizerConfig& c) {
  check(!c.tokenizer_model.empty(), "{} needs --tokenizer-model: give SentencePiece's .model file", c.type);
  std::ifstream in(c.tokenizer_model, std::ios::binary);
  const std::string bytes{std::istreambuf_iterator<char>(in), {}};
  check(!bytes.empty(), "--tokenizer-model {}: cannot be read, or is empty: give SentencePiece's .model file",
        c.tokenizer_model);
  return std::make_unique<SentencePieceTokenizer>(c.tokenizer_model, bytes, c.type);
}

}  // namespace megalith
