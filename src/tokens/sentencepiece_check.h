// What SentencePiece's library trusts in a .model file without looking, and what it does not tell of it.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "base/dtype.h"

namespace megalith {

struct SentencePieceModel {
  enum Type : u64 { normal = 1, unknown = 2, control = 3, user_defined = 4, unused = 5, byte = 6 };
  struct Piece {
    std::string text;
    float score = 0;
    u64 type = normal;
  };
  bool unigram = true;
  std::vector<Piece> pieces;  // by id
};

// The pieces of a model. Fails, naming `file`, if the bytes are not a protobuf message, or the table of replacements in
// it would lead the library out of its memory.
SentencePieceModel read_sentencepiece_model(std::string_view bytes, const std::string& file);

}  // namespace megalith
