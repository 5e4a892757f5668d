#include "tokens/sentencepiece_check.h"

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
    std::string_view bytes = {};  // of a string, bytes or a message; else empty
  };
  // The next field; none at the end. `broken()` afterwards says whether the end came too early.
  std::optional<Field> next() {
    if (at_ >= bytes_.size() || broken_) return std::nullopt;
    const u64 tag = varint();
    Field f{tag >> 3};
    u64 size = 0;
    switch (tag & 7) {
      case 0:
        varint();
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
    if ((tag & 7) == 2) f.bytes = bytes_.substr(at_, size);
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

}  // namespace

void check_sentencepiece_model(std::string_view bytes, const std::string& file) {
  constexpr u64 kPieces = 1, kNormalizer = 3, kDenormalizer = 5;
  constexpr size_t kLongestPiece = 1024;
  Fields fields(bytes);
  while (const auto f = fields.next()) {
    if (f->number == kNormalizer || f->number == kDenormalizer) check_normalizer(f->bytes, file);
    check(f->number != kPieces || f->bytes.size() <= kLongestPiece + 32,
          "--tokenizer-model {}: a token of {} bytes is too long: at most {} are possible", file, f->bytes.size(),
          kLongestPiece);
  }
  check(!fields.broken(), "--tokenizer-model {}: not a SentencePiece model: it is cut short or broken", file);
}

}  // namespace megalith
