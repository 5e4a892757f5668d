// Tokens that are cut out of the text before anything else looks at it, such as <|endoftext|>: leftmost first, the
// longest of those that begin at one place.
#pragma once
#include <memory>
#include <string_view>

#include "tokens/byte_trie.h"
#include "tokens/tokenizer.h"

namespace megalith {

class SpecialTokens {
 public:
  static constexpr size_t kLongest = 1024;  // bytes: bounds the time that a place in the text may take
  static constexpr size_t npos = std::string_view::npos;

  struct Match {
    size_t begin = npos, end = npos;  // npos: none
    i32 value = -1;
  };

  // `value` is what a match gives: an id or an index. Fails if the text is longer than kLongest.
  void add(std::string_view text, i32 value);
  bool empty() const { return trie_.empty(); }
  Match find(std::string_view text, size_t from) const;

 private:
  size_t candidate(std::string_view text, size_t from) const;  // the next place where a token may begin, or the end

  ByteTrie trie_;
  int first_bytes_ = 0;  // how many bytes a token may begin with
  u8 first_ = 0;         // the only one, if it is one
};

// Gives the special tokens their ids and the text between them to `rest`. `tokens` must outlive it.
std::unique_ptr<TextEncoder> with_special_tokens(const SpecialTokens& tokens, std::unique_ptr<TextEncoder> rest);

}  // namespace megalith
