// Tokens that are found in the text before any other step, such as <|endoftext|>: the leftmost first, then the
// longest at the same position.
#pragma once
#include <memory>
#include <string_view>

#include "tokens/byte_trie.h"
#include "tokens/tokenizer.h"

namespace megalith {

class SpecialTokens {
 public:
  static constexpr size_t kLongest = 1024;  // bytes; limits the time of each position in the text
  static constexpr size_t npos = std::string_view::npos;

  struct Match {
    size_t begin = npos, end = npos;  // npos: none
    i32 value = -1;
  };

  // `value`: the result of a match, an id or an index. Fails if the text is longer than kLongest.
  void add(std::string_view text, i32 value);
  bool empty() const { return trie_.empty(); }
  Match find(std::string_view text, size_t from) const;

 private:
  size_t candidate(std::string_view text, size_t from) const;  // the next possible position of a token, or the end

  ByteTrie trie_;
  int first_bytes_ = 0;  // number of bytes that can begin a token
  u8 first_ = 0;         // the byte, if there is only one
};

// Encodes the special tokens, and gives the text between them to `rest`. `tokens` must outlive it.
std::unique_ptr<TextEncoder> with_special_tokens(const SpecialTokens& tokens, std::unique_ptr<TextEncoder> rest);

}  // namespace megalith
