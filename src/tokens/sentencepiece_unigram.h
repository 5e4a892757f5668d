// The best path of a unigram .model as in SentencePiece 0.2, with sums in f32.
#pragma once
#include <string>
#include <vector>

#include "tokens/byte_bpe.h"
#include "tokens/sentencepiece_check.h"
#include "tokens/unigram_path.h"

namespace megalith {

class SentencePieceUnigram {
 public:
  explicit SentencePieceUnigram(const SentencePieceModel& model);

  // The normalized text of these pieces, which may be pieces of single bytes.
  std::string normalized(const std::vector<std::string>& pieces) const;

  static constexpr float kLowest = -100000;  // see UnigramPath

  void encode(std::string_view normalized, UnigramPath<float>& path, std::vector<i32>& out) const;

 private:
  struct Piece {
    float score;
    bool user_defined;
  };
  ByteTrie trie_;
  std::vector<Piece> pieces_;
  StringMap<u8> byte_pieces_;  // "<0x41>" -> 0x41
  std::vector<i32> byte_ids_;  // of bytes; empty if the model lacks one
  float unknown_score_, most_;
  i32 unknown_ = 0;
};

}  // namespace megalith
