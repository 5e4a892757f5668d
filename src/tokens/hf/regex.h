// Regular expressions of tokenizer.json files. They are written for Oniguruma with Ruby's syntax; PCRE2 runs them.
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

// Each thread needs its own.
class Regex {
 public:
  // Fails, naming `where`, if the pattern is invalid or uses a feature that PCRE2 lacks.
  Regex(std::string_view pattern, std::string_view where);
  ~Regex();
  Regex(Regex&&) noexcept;

  // All matches from left to right, without overlap. Empty matches count, except at the end of the previous match.
  // `text` need not be valid UTF-8: other bytes match like control characters. Fails if a match takes too many steps.
  void find_all(std::string_view text, std::vector<Span>& out);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// The same pattern in PCRE2's syntax. Classes such as \s and \p{L} are expanded if PCRE2 defines them differently or
// has an older Unicode.
std::string to_pcre2(std::string_view pattern, std::string_view where);

}  // namespace megalith::hf
