#include "tokens/sentencepiece_unigram.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

namespace megalith {

SentencePieceUnigram::SentencePieceUnigram(const SentencePieceModel& model) {
  constexpr float kUnknownPenalty = 10;
  using Type = SentencePieceModel;
  float least = std::numeric_limits<float>::max(), most = std::numeric_limits<float>::lowest();
  for (const auto& p : model.pieces) {
    const i32 id = i32(pieces_.size());
    pieces_.push_back({p.score, p.type == Type::user_defined});
    if (p.type == Type::unknown) unknown_ = id;
    if (p.type == Type::normal) least = std::min(least, p.score), most = std::max(most, p.score);
    if (p.type == Type::normal || p.type == Type::user_defined) trie_.insert(p.text, id);
  }
  unknown_score_ = least - kUnknownPenalty, most_ = most;
  std::vector<i32> ids(256, -1);
  for (int b = 0; b < 256; ++b) {
    const std::string name = fmt::format("<0x{:02X}>", b);
    for (size_t id = 0; id < model.pieces.size(); ++id) {
      if (model.pieces[id].type == Type::byte && model.pieces[id].text == name) {
        ids[size_t(b)] = i32(id), byte_pieces_[name] = u8(b);
        break;
      }
    }
  }
  if (byte_pieces_.size() == 256) byte_ids_ = ids;
}

std::string SentencePieceUnigram::normalized(const std::vector<std::string>& pieces) const {
  std::string text;
  for (const std::string& p : pieces) {
    const auto byte = byte_pieces_.find(p);
    byte == byte_pieces_.end() ? text += p : text += char(byte->second);
  }
  return text;
}

void SentencePieceUnigram::encode(std::string_view text, UnigramPath<float>& path, std::vector<i32>& out) const {
  const auto score_of = [&](i32 id, size_t bytes) {
    const Piece& p = pieces_[size_t(id)];
    return p.user_defined ? float(bytes) * most_ - 0.1f : p.score;
  };
  const auto& steps = path.find(text, trie_, unknown_score_, score_of);
  bool in_unknown = false;
  for (size_t i = steps.size(); i-- > 0;) {
    const bool unknown = steps[i].id == UnigramPath<float>::kUnknown;
    if (!unknown) {
      out.push_back(steps[i].id);
    } else if (!byte_ids_.empty()) {
      for (char b : text.substr(steps[i].begin, steps[i].end - steps[i].begin)) out.push_back(byte_ids_[u8(b)]);
    } else if (!in_unknown) {
      out.push_back(unknown_);
    }
    in_unknown = unknown;
  }
}

}  // namespace megalith
