// What SentencePiece makes of a text before it looks for pieces: replacements by a table, white space put together and
// written as U+2581. For models without user-defined pieces, which would be kept from it.
#pragma once
#include <optional>
#include <string>
#include <string_view>

#include "tokens/hf/charsmap.h"
#include "tokens/sentencepiece_check.h"

namespace megalith {

class SentencePieceNormalizer {
 public:
  // The table must be sound, as read_sentencepiece_model checks.
  explicit SentencePieceNormalizer(const SentencePieceModel& model);

  // Writes to `out`, whatever it held.
  void normalize(std::string_view text, std::string& out) const;

 private:
  struct Prefix {
    std::string_view result;
    size_t length;  // bytes of the text that it stands for
  };
  Prefix prefix(std::string_view text) const;

  SentencePieceModel::Normalizer options_;
  std::optional<hf::Charsmap> table_;
  std::string_view space_;
};

}  // namespace megalith
