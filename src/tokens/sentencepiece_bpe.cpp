#include "tokens/sentencepiece_bpe.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "tokens/piece_encoder.h"
#include "tokens/unicode.h"

namespace megalith {

namespace {

using Type = SentencePieceModel;
constexpr std::string_view kSpace = "\u2581";

size_t char_length(std::string_view text) {
  return read_utf8(reinterpret_cast<const u8*>(text.data()), text.size()).length;
}

bool is_text(std::string_view bytes) { return replace_invalid_utf8(bytes) == bytes; }

}  // namespace

bool SentencePieceBpe::covers(const SentencePieceModel& model) {
  return model.algorithm == SentencePieceModel::bpe && std::ranges::all_of(model.pieces, [](const auto& p) {
           if (p.text.empty() || !is_text(p.text) || !std::isfinite(p.score)) return false;
           if (p.type == Type::normal) return true;
           return p.type != Type::user_defined && p.type != Type::unused && char_length(p.text) < p.text.size();
         });
}

SentencePieceBpe::SentencePieceBpe(const SentencePieceModel& model)
    : normalizer_(model),
      pieces_(u32(model.pieces.size())),
      last_(pieces_),
      byte_ids_(model.byte_fallback ? model.byte_ids() : std::vector<i32>()),
      merges_(std::array<u32, 256>{}, read_rules(model)) {}

u32 SentencePieceBpe::symbol_of(std::string_view text) {
  const auto found = symbols_.find(text);
  if (found != symbols_.end()) return found->second;
  return symbols_.emplace(text, ++last_).first->second;
}

std::vector<BpeMerges::Rule> SentencePieceBpe::read_rules(const SentencePieceModel& model) {
  std::map<float, u32, std::greater<>> ranks;
  for (u32 id = 0; id < pieces_; ++id) {
    const auto& p = model.pieces[id];
    sizes_.push_back(p.text.size());
    if (p.type == Type::unknown) unknown_ = i32(id);
    if (p.type != Type::normal) continue;
    symbols_.emplace(p.text, id);
    ranks.emplace(p.score, 0);
  }
  u32 next = 0;
  for (auto& [score, rank] : ranks) rank = next++;
  std::vector<BpeMerges::Rule> rules;
  for (u32 id = 0; id < pieces_; ++id) {
    const std::string_view text = model.pieces[id].text;
    if (model.pieces[id].type != Type::normal) continue;
    for (size_t cut = char_length(text); cut < text.size(); cut += char_length(text.substr(cut))) {
      const std::string_view left = text.substr(0, cut), right = text.substr(cut);
      cuts_at_spaces_ &= !right.starts_with(kSpace) || left.ends_with(kSpace);
      const bool possible = (symbols_.contains(left) || char_length(left) == left.size()) &&
                            (symbols_.contains(right) || char_length(right) == right.size());
      if (possible) rules.push_back({symbol_of(left), symbol_of(right), {ranks[model.pieces[id].score], id}});
    }
  }
  // If a space were unknown, an unknown character before it would become the neighbour of one after it.
  cuts_at_spaces_ &= symbols_.contains(kSpace) || !byte_ids_.empty();
  return rules;
}

// The ids of normalized text, as a Model of PieceEncoder.
class SentencePieceBpeWords {
 public:
  explicit SentencePieceBpeWords(const SentencePieceBpe& model) : m_(model), encoder_(model.merges_) {}
  size_t max_ids(size_t size) const { return size; }

  size_t encode(const u8* word, size_t size, i32* out) {
    const std::string_view text(reinterpret_cast<const char*>(word), size);
    symbols_.clear();
    for (size_t i = 0; i < size;) {
      const size_t length = char_length(text.substr(i));
      const auto found = m_.symbols_.find(text.substr(i, length));
      symbols_.push_back(found == m_.symbols_.end() ? m_.pieces_ : found->second);
      i += length;
    }
    merged_.resize(symbols_.size());
    merged_.resize(encoder_.encode(symbols_.data(), symbols_.size(), merged_.data()));
    return write(text, out);
  }

 private:
  // Pieces keep their ids. A character that is no piece becomes its bytes. Without byte pieces several become one
  // unknown token.
  size_t write(std::string_view text, i32* out) const {
    const i32* begin = out;
    size_t at = 0;  // bytes
    bool in_unknown = false;
    for (const i32 symbol : merged_) {
      const bool unknown = u32(symbol) >= m_.pieces_;
      const size_t size = unknown ? char_length(text.substr(at)) : m_.sizes_[size_t(symbol)];
      if (!unknown)
        *out++ = symbol;
      else if (!m_.byte_ids_.empty())
        for (char b : text.substr(at, size)) *out++ = m_.byte_ids_[u8(b)];
      else if (!in_unknown)
        *out++ = m_.unknown_;
      in_unknown = unknown;
      at += size;
    }
    return size_t(out - begin);
  }

  const SentencePieceBpe& m_;
  BpeEncoder encoder_;
  std::vector<u32> symbols_;
  std::vector<i32> merged_;
};

class SentencePieceBpeEncoder : public TextEncoder {
 public:
  explicit SentencePieceBpeEncoder(const SentencePieceBpe& model)
      : normalizer_(model.normalizer_), cuts_(model.cuts_at_spaces_), pieces_(SentencePieceBpeWords(model)) {}

  void encode(std::string_view text, std::vector<i32>& out) override {
    normalizer_.normalize(text, normalized_);
    const std::string_view all = normalized_;
    for (size_t begin = 0; begin < all.size();) {
      const size_t end = cuts_ ? word_end(all, begin) : all.size();
      pieces_.add(reinterpret_cast<const u8*>(all.data()) + begin, end - begin, all.size() - begin, out);
      begin = end;
    }
    pieces_.flush(out);
  }

 private:
  static size_t word_end(std::string_view text, size_t begin) {
    while (text.substr(begin).starts_with(kSpace)) begin += kSpace.size();
    return begin >= text.size() ? text.size() : std::min(text.find(kSpace, begin), text.size());
  }

  const SentencePieceNormalizer& normalizer_;
  bool cuts_;
  PieceEncoder<SentencePieceBpeWords> pieces_;
  std::string normalized_;
};

std::unique_ptr<TextEncoder> SentencePieceBpe::encoder() const {
  return std::make_unique<SentencePieceBpeEncoder>(*this);
}

}  // namespace megalith
