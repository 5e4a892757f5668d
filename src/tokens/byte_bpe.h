// A byte-level vocabulary: the merges, the bytes of each token, and the tokens that merging alone does not reach. What
// GPT-2's files, tiktoken's ranks and byte-level tokenizer.json files come down to.
#pragma once
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "tokens/bpe.h"

namespace megalith {

struct StringHash {
  using is_transparent = void;
  size_t operator()(std::string_view s) const { return std::hash<std::string_view>()(s); }
};
template <class T>
using StringMap = std::unordered_map<std::string, T, StringHash, std::equal_to<>>;

struct ByteBpe {
  BpeMerges merges;
  // Pieces that are one token although merging gives several, where a piece that is a token is taken whole.
  StringMap<i32> whole = {};

  // Fills `whole`, for vocabularies that take a piece whole if it is a token: tokens[i] is the bytes of id first_id +
  // i; empty ones are no tokens.
  void keep_whole(const std::vector<std::string>& tokens, i32 first_id);
};

}  // namespace megalith
