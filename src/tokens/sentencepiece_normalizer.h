// SentencePiece's normalization: replacements by a table, white space collapsed and written as U+2581. For models
// without user-defined pieces, because those are excluded from normalization.
#pragma once
#include <optional>
#include <string>
#include <string_view>

#include "tokens/hf/charsmap.h"
#include "tokens/sentencepiece_check.h"

namespace megalith {

class SentencePieceNormalizer {
 public:
  // The table must be valid: read_sentencepiece_model checks it.
  explicit SentencePieceNormalizer(const SentencePieceModel& model);

  // Writes the result to `out`.
  void normalize(std::string_view text, std::string& out) const;

 private:
  struct Prefix {
    std::string_view result;
    size_t length;  // bytes of the text that it replaces
  };
  Prefix prefix(std::string_view text) const;

  SentencePieceModel::Normalizer options_;
  std::optional<hf::Charsmap> table_;
  std::string_view space_;
};

}  // namespace megalith
