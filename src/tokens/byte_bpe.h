// A byte-level vocabulary: the merges, the bytes of each token, and the tokens that merges do not produce. Files of
// GPT-2, of tiktoken and of byte-level tokenizer.json are all converted to it.
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
  // For vocabularies in which a piece that is a token stays whole: the pieces that merges would split.
  StringMap<i32> whole = {};

  // Fills `whole`. tokens[i]: the bytes of id first_id + i, empty if it has no token.
  void keep_whole(const std::vector<std::string>& tokens, i32 first_id);
};

}  // namespace megalith
