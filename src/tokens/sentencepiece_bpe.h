// A BPE .model as SentencePiece encodes with it, through the BPE core: neighbours merge if together they are a piece,
// that of the highest score first, the leftmost of equal ones.
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
  // Whether this class does the same as the library: models with user-defined or unused pieces have rules of their own,
  // and so have pieces that are not text.
  static bool covers(const SentencePieceModel& model);

  explicit SentencePieceBpe(const SentencePieceModel& model);

  std::unique_ptr<TextEncoder> encoder() const;  // holds on to this object

 private:
  friend class SentencePieceBpeEncoder;
  friend class SentencePieceBpeWords;
  std::vector<BpeMerges::Rule> read_rules(const SentencePieceModel& model);
  u32 symbol_of(std::string_view text);

  SentencePieceNormalizer normalizer_;
  // Pieces have their ids, from pieces_ on come characters: pieces_ itself for those that no piece has.
  StringMap<u32> symbols_;
  std::vector<size_t> sizes_;  // bytes of each piece
  u32 pieces_, last_;
  std::vector<i32> byte_ids_;  // of unknown characters' bytes; empty: they become unknown_
  i32 unknown_ = 0;
  bool cuts_at_spaces_ = true;  // nothing merges across the place before U+2581 behind another character
  BpeMerges merges_;
};

}  // namespace megalith
