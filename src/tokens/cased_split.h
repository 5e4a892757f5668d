// Cuts text into the pieces of o200k's pattern (GPT-4o), or of Megatron's v2, without a regex engine. With
//   A = [\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}], B = [\p{Ll}\p{Lm}\p{Lo}\p{M}], C = (?i:'s|'t|'re|'ve|'m|'ll|'d) it is
//   [^\r\n\p{L}\p{N}]?A*B+C?|[^\r\n\p{L}\p{N}]?A+B*C?|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+
// Megatron's v2 has no C, and \p{N} for \p{N}{1,3}. Every character belongs to one piece.
#pragma once
#include "tokens/scanner.h"

namespace megalith {

struct CasedPattern {
  bool contractions = true;
  int digits = 3;
};

template <CasedPattern kPattern>
class CasedSplit : Scanner {
 public:
  using Scanner::Scanner;

  // End of the piece that begins at i, 0 <= i < text.size().
  size_t piece_end(size_t i) const {
    const FoundSet c = at(i);
    const size_t k = i + c.length;
    const bool may_lead = !(c.set & (kLetters | kNumbers)) && !is_newline(i);
    if (may_lead) {
      if (const size_t end = lower_word(k)) return contracted(end);
      if (const size_t end = c.set & kBoth ? lower_word(i) : 0) return contracted(end);
      if (const size_t end = upper_word(k)) return contracted(end);
      if (const size_t end = c.set & kBoth ? upper_word(i) : 0) return contracted(end);
    } else if (c.set & kLetters) {
      const size_t end = lower_word(i);
      return contracted(end ? end : upper_word(i));
    }
    if (c.set & kNumbers) return run_at_most(k, kNumbers, kPattern.digits - 1);
    const size_t p = text_[i] == ' ' && k < end_ ? k : i;
    const FoundSet next = at(p);
    if (next.set & kOthers) return newlines_and_slashes(run(p + next.length, kOthers));
    return spaces_or_newlines(i, false);
  }

 private:
  static constexpr Set kBoth = class_set_of(CharClass::letter) | class_set_of(CharClass::mark);
  static constexpr Set kUppers = kBoth | class_set_of(CharClass::upper),
                       kLowers = kBoth | class_set_of(CharClass::lower);

  // A*B+ at p: its end, or 0. A* backtracks until B+ matches the last character that is in both sets.
  size_t lower_word(size_t p) const {
    size_t k = p, both = 0;
    while (k < end_) {
      const FoundSet c = at(k);
      if (!(c.set & kUppers)) break;
      k += c.length;
      if (c.set & kBoth) both = k;
    }
    const size_t end = run(k, kLowers);
    return end > k ? end : both;
  }

  // A+B* at p: its end, or 0.
  size_t upper_word(size_t p) const {
    const size_t k = run(p, kUppers);
    return k == p ? 0 : run(k, kLowers);
  }

  size_t contracted(size_t k) const {
    return kPattern.contractions && k < end_ && text_[k] == '\'' ? k + contraction_any_case(k) : k;
  }

  size_t newlines_and_slashes(size_t k) const {
    while (k < end_ && (is_newline(k) || text_[k] == '/')) ++k;
    return k;
  }
};

using O200kSplit = CasedSplit<CasedPattern{}>;
using MegatronV2Split = CasedSplit<CasedPattern{.contractions = false, .digits = 1}>;

}  // namespace megalith
