#include "tokens/sentencepiece_check.h"

#include <cstring>
#include <optional>

#include "base/check.h"
#include "tokens/hf/charsmap.h"

namespace megalith {

namespace {

// The fields of a protobuf message, one after another; groups, which the format does not have, end it.
class Fields {
 public:
  explicit Fields(std::string_view bytes) : bytes_(bytes) {}

  struct Field {
    u64 number = 0;
    std::string_view bytes = {};  // of a string, bytes, a message or a fixed32; else empty
    u64 value = 0;                // of a varint
  };
  // The next field; none at the end. `broken()` afterwards says whether the end came too early.
  std::optional<Field> next() {
    if (at_ >= bytes_.size() || broken_) return std::nullopt;
    const u64 tag = varint();
    Field f{tag >> 3};
    u64 size = 0;
    switch (tag & 7) {
      case 0:
        f.value = varint();
        break;
      case 1:
        size = 8;
        break;
      case 2:
        size = varint();
        break;
      case 5:
        size = 4;
        break;
      default:
        broken_ = true;
    }
    if (size > bytes_.size() - at_) broken_ = true;
    if (broken_) return std::nullopt;
    if ((tag & 7) == 2 || (tag & 7) == 5) f.bytes = bytes_.substr(at_, size);
    at_ += size;
    return f;
  }
  bool broken() const { return broken_; }

 private:
  u64 varint() {
    u64 value = 0;
    for (int shift = 0; shift < 64; shift += 7) {
      if (at_ >= bytes_.size()) break;
      const auto byte = static_cast<unsigned char>(bytes_[at_++]);
      value |= u64(byte & 127) << shift;
      if (byte < 128) return value;
    }
    broken_ = true;
    return 0;
  }

  std::string_view bytes_;
  size_t at_ = 0;
  bool broken_ = false;
};

void check_normalizer(std::string_view spec, const std::string& file) {
  Fields fields(spec);
  while (const auto f = fields.next()) {
    if (f->number != 2 || f->bytes.empty()) continue;
    check(hf::Charsmap(f->bytes, file).is_sound(), "--tokenizer-model {}: its table of replacements is broken", file);
  }
  check(!fields.broken(), "--tokenizer-model {}: not a SentencePiece model: its normalizer is broken", file);
}

SentencePieceModel::Piece read_piece(std::string_view message, const std::string& file) {
  constexpr size_t kLongestPiece = 1024;
  SentencePieceModel::Piece piece;
  Fields fields(message);
  while (const auto f = fields.next()) {
    if (f->number == 1) piece.text = f->bytes;
    if (f->number == 2 && f->bytes.size() == sizeof(float)) std::memcpy(&piece.score, f->bytes.data(), sizeof(float));
    if (f->number == 3) piece.type = f->value;
  }
  check(!fields.broken(), "--tokenizer-model {}: not a SentencePiece model: a token is broken", file);
  check(piece.text.size() <= kLongestPiece,
        "--tokenizer-model {}: a token of {} bytes is too long: at most {} are possible", file, piece.text.size(),
        kLongestPiece);
  return piece;
}

bool is_unigram(std::string_view trainer_spec) {
  constexpr u64 kModelType = 3, kUnigram = 1;
  u64 type = kUnigram;
  Fields fields(trainer_spec);
  while (const auto f = fields.next()) {
    if (f->number == kModelType) type = f->value;
  }
  return type == kUnigram;
}

}  // namespace

SentencePieceModel read_sentencepiece_model(std::string_view bytes, const std::string& file) {
  constexpr u64 kPieces = 1, kTrainer = 2, kNormalizer = 3, kDenormalizer = 5;
  SentencePieceModel model;
  Fields fields(bytes);
  while (const auto f = fields.next()) {
    if (f->number == kPieces) model.pieces.push_back(read_piece(f->bytes, file));
    if (f->number == kTrainer) model.unigram = is_unigram(f->bytes);
    if (f->number == kNormalizer || f->number == kDenormalizer) check_normalizer(f->bytes, file);
  }
  check(!fields.broken(), "--tokenizer-model {}: not a SentencePiece model: it is cut short or broken", file);
  return model;
}

}  // namespace megalith
