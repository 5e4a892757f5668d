// Checks a .model file for what SentencePiece's library does not check, and reads what it does not report.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "base/dtype.h"

namespace megalith {

struct SentencePieceModel {
  enum Algorithm : u64 { unigram = 1, bpe = 2, word = 3, character = 4 };
  enum Type : u64 { normal = 1, unknown = 2, control = 3, user_defined = 4, unused = 5, byte = 6 };
  struct Piece {
    std::string text;
    float score = 0;
    u64 type = normal;
  };
  struct Normalizer {
    std::string table;  // of replacements; empty: none
    bool dummy_prefix = true, remove_extra_spaces = true, escape_spaces = true, space_as_suffix = false;
  };
  u64 algorithm = unigram;
  bool byte_fallback = false;  // characters without a piece become bytes
  Normalizer normalizer;
  std::vector<Piece> pieces;  // by id

  bool has_user_defined() const;
  std::vector<i32> byte_ids() const;  // of the pieces of all 256 bytes; empty if one is missing
};

// The pieces of a model. Fails, naming `file`, if the bytes are not a protobuf message. Also fails if the table of
// replacements would make the library read outside its memory.
SentencePieceModel read_sentencepiece_model(std::string_view bytes, const std::string& file);

}  // namespace megalith
