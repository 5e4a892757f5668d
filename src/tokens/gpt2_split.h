// Cuts text into the pieces of GPT-2's pattern without a regex engine:
//   's|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+
// Every character belongs to one piece.
#pragma once
#include "tokens/scanner.h"

namespace megalith {

class Gpt2Split : Scanner {
 public:
  using Scanner::Scanner;

  // End of the piece that begins at i, 0 <= i < text.size().
  size_t piece_end(size_t i) const {
    if (text_[i] == '\'') {
      if (const size_t length = contraction(i)) return i + length;
    }
    const size_t k = text_[i] == ' ' && i + 1 < end_ ? i + 1 : i;
    const FoundSet c = at(k);
    if (c.set == kSpaces) return spaces(i);
    return run(k + c.length, c.set & kLetters ? kLetters : c.set & kOthers ? kOthers : c.set);
  }
};

}  // namespace megalith
