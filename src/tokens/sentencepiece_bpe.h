// Encodes with a BPE .model like SentencePiece, on our BPE code. Neighbours merge if together they are a piece: the
// highest score first, the leftmost of equal ones.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "tokens/byte_bpe.h"
#include "tokens/sentencepiece_check.h"
#include "tokens/sentencepiece_normalizer.h"
#include "tokens/tokenizer.h"

namespace megalith {

class SentencePieceBpe {
 public:
  // Whether this class gives the library's results. Models with user-defined or unused pieces, or pieces that are not
  // text, have other rules.
  static bool covers(const SentencePieceModel& model);

  explicit SentencePieceBpe(const SentencePieceModel& model);

  std::unique_ptr<TextEncoder> encoder() const;  // refers to this object

 private:
  friend class SentencePieceBpeEncoder;
  friend class SentencePieceBpeWords;
  std::vector<BpeMerges::Rule> read_rules(const SentencePieceModel& model);
  u32 symbol_of(std::string_view text);

  SentencePieceNormalizer normalizer_;
  // Symbols are the ids of pieces, then of other characters from pieces_ on. pieces_ itself stands for an unknown
  // character.
  StringMap<u32> symbols_;
  std::vector<size_t> sizes_;  // bytes of each piece
  u32 pieces_, last_;
  std::vector<i32> byte_ids_;  // of the bytes of unknown characters; empty: they become unknown_
  i32 unknown_ = 0;
  bool cuts_at_spaces_ = true;  // no rule merges a character with a U+2581 after it
  BpeMerges merges_;
};

}  // namespace megalith
