#include "tokens/sentencepiece_check.h"

#include <algorithm>
#include <cstring>
#include <optional>

#include "base/check.h"
#include "tokens/hf/charsmap.h"

namespace megalith {

namespace {

using Model = SentencePieceModel;

// The fields of a protobuf message, one after another. A group ends it, because the format has none.
class Fields {
 public:
  explicit Fields(std::string_view bytes) : bytes_(bytes) {}

  // A field with the wrong wire type counts as unknown, so use these accessors.
  struct Field {
    u64 number = 0, wire = 0;
    std::string_view bytes = {};
    u64 value = 0;

    bool is_number(u64 n) const { return number == n && wire == 0; }  // value
    bool is_bytes(u64 n) const { return number == n && wire == 2; }   // bytes: also strings and messages
    bool is_float(u64 n) const { return number == n && wire == 5; }   // bytes: 4
  };
  // The next field; none at the end. Then `broken()` is true if the message is truncated.
  std::optional<Field> next() {
    if (at_ >= bytes_.size() || broken_) return std::nullopt;
    const u64 tag = varint();
    Field f{tag >> 3, tag & 7};
    u64 size = 0;
    switch (f.wire) {
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
    if (f.wire == 2 || f.wire == 5) f.bytes = bytes_.substr(at_, size);
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

// `out`: gets the values of the fields.
void read_normalizer(std::string_view spec, const std::string& file, SentencePieceModel::Normalizer& out) {
  Fields fields(spec);
  while (const auto f = fields.next()) {
    if (f->is_bytes(2)) out.table = f->bytes;
    if (f->is_number(3)) out.dummy_prefix = f->value != 0;
    if (f->is_number(4)) out.remove_extra_spaces = f->value != 0;
    if (f->is_number(5)) out.escape_spaces = f->value != 0;
  }
  check(!fields.broken(), "--tokenizer-model {}: not a SentencePiece model: its normalizer is broken", file);
  check(out.table.empty() || hf::Charsmap(out.table, file).is_sound(),
        "--tokenizer-model {}: its table of replacements is broken", file);
}

SentencePieceModel::Piece read_piece(std::string_view message, const std::string& file) {
  constexpr size_t kLongestPiece = 1024;
  SentencePieceModel::Piece piece;
  Fields fields(message);
  while (const auto f = fields.next()) {
    if (f->is_bytes(1)) piece.text = f->bytes;
    if (f->is_float(2)) std::memcpy(&piece.score, f->bytes.data(), sizeof(float));
    if (f->is_number(3) && u32(f->value) >= Model::normal && u32(f->value) <= Model::byte) piece.type = u32(f->value);
  }
  check(!fields.broken(), "--tokenizer-model {}: not a SentencePiece model: a token is broken", file);
  check(piece.text.size() <= kLongestPiece,
        "--tokenizer-model {}: a token of {} bytes is too long: at most {} are possible", file, piece.text.size(),
        kLongestPiece);
  return piece;
}

void read_trainer(std::string_view spec, SentencePieceModel& model) {
  Fields fields(spec);
  while (const auto f = fields.next()) {
    if (f->is_number(3) && u32(f->value) >= Model::unigram && u32(f->value) <= Model::character)
      model.algorithm = u32(f->value);
    if (f->is_number(24)) model.normalizer.space_as_suffix = f->value != 0;
    if (f->is_number(35)) model.byte_fallback = f->value != 0;
  }
}

}  // namespace

bool SentencePieceModel::has_user_defined() const {
  return std::ranges::any_of(pieces, [](const Piece& p) { return p.type == user_defined; });
}

std::vector<i32> SentencePieceModel::byte_ids() const {
  std::vector<i32> ids;
  for (int b = 0; b < 256; ++b) {
    const std::string name = fmt::format("<0x{:02X}>", b);
    const auto found = std::ranges::find_if(pieces, [&](const Piece& p) { return p.type == byte && p.text == name; });
    if (found == pieces.end()) return {};
    ids.push_back(i32(found - pieces.begin()));
  }
  return ids;
}

SentencePieceModel read_sentencepiece_model(std::string_view bytes, const std::string& file) {
  constexpr u64 kPieces = 1, kTrainer = 2, kNormalizer = 3, kDenormalizer = 5;
  SentencePieceModel model;
  Fields fields(bytes);
  while (const auto f = fields.next()) {
    if (f->is_bytes(kPieces)) model.pieces.push_back(read_piece(f->bytes, file));
    if (f->is_bytes(kTrainer)) read_trainer(f->bytes, model);
    if (f->is_bytes(kNormalizer)) read_normalizer(f->bytes, file, model.normalizer);
    SentencePieceModel::Normalizer unused;
    if (f->is_bytes(kDenormalizer)) read_normalizer(f->bytes, file, unused);
  }
  check(!fields.broken(), "--tokenizer-model {}: not a SentencePiece model: it is cut short or broken", file);
  return model;
}

}  // namespace megalith
