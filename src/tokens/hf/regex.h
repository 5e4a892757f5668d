// Regular expressions of tokenizer.json files: written for Oniguruma with Ruby's syntax, run by PCRE2.
#pragma once
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/dtype.h"

namespace megalith::hf {

struct Span {
  size_t begin, end;
  bool operator==(const Span&) const = default;
};

// One per thread.
class Regex {
 public:
  // Fails, naming `where`, if the pattern is wrong or uses what PCRE2 does not have.
  Regex(std::string_view pattern, std::string_view where);
  ~Regex();
  Regex(Regex&&) noexcept;

  // All matches from left to right, none overlapping; empty ones too, but not at the end of the one before. `text` need
  // not be UTF-8: other bytes match as control characters. Fails if a match takes too many steps.
  void find_all(std::string_view text, std::vector<Span>& out);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// The same pattern in PCRE2's syntax: classes such as \s and \p{L} written out where PCRE2 means others or knows less
// of Unicode.
std::string to_pcre2(std::string_view pattern, std::string_view where);

}  // namespace megalith::hf
