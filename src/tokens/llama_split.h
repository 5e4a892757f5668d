// Cuts text into the pieces of Llama 3's pattern, or of a similar one, without a regex engine:
//   (?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+
// Qwen's has \p{N} for \p{N}{1,3}. In cl100k's, white space at the end of the text is one piece. Megatron's v1 has
// neither contractions nor numbers of several digits. Every character belongs to one piece.
#pragma once
#include "tokens/scanner.h"

namespace megalith {

struct LlamaPattern {
  bool contractions = true;
  int digits = 3;          // the most of one number
  bool whole_end = false;  // white space at the end is one piece, also with newlines
};

template <LlamaPattern kPattern>
class LlamaSplit : Scanner {
 public:
  using Scanner::Scanner;

  // End of the piece that begins at i, 0 <= i < text.size().
  size_t piece_end(size_t i) const {
    if (kPattern.contractions && text_[i] == '\'') {
      if (const size_t length = contraction_any_case(i)) return i + length;
    }
    const FoundSet c = at(i);
    if (c.set & kLetters) return run(i + c.length, kLetters);
    if (c.set & kNumbers) return run_at_most(i + c.length, kNumbers, kPattern.digits - 1);
    const size_t k = i + c.length;
    if (k < end_ && !is_newline(i)) {
      const FoundSet next = at(k);
      if (next.set & kLetters) return run(k + next.length, kLetters);
      if (text_[i] == ' ' && (next.set & kOthers)) return newlines(run(k + next.length, kOthers));
    }
    if (c.set & kOthers) return newlines(run(k, kOthers));
    return spaces_or_newlines(i, kPattern.whole_end);
  }

 private:
  size_t newlines(size_t k) const {
    while (k < end_ && is_newline(k)) ++k;
    return k;
  }
};

using Llama3Split = LlamaSplit<LlamaPattern{}>;
using QwenSplit = LlamaSplit<LlamaPattern{.digits = 1}>;
using Cl100kSplit = LlamaSplit<LlamaPattern{.whole_end = true}>;
using MegatronV1Split = LlamaSplit<LlamaPattern{.contractions = false, .digits = 1}>;

}  // namespace megalith
