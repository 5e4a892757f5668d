// SentencePiece's precompiled table of replacements. A Darts double array maps a key to a number. The replacements
// follow, each with a zero byte at its end.
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/dtype.h"

namespace megalith::hf {

class Charsmap {
 public:
  // blob: u32 size of the array in bytes, the array, the replacements, in little-endian. Fails, naming `where`, if
  // the sizes are inconsistent. No look-up reads outside the array, whatever its content.
  Charsmap(std::string_view blob, std::string_view where);

  // The replacement of the shortest key that is a prefix of `text`.
  std::optional<std::string_view> shortest(std::string_view text) const;

  struct Match {
    std::string_view text;  // the replacement
    size_t length;          // of the key
  };
  // The replacement of the longest key that is a prefix of `text`.
  std::optional<Match> longest(std::string_view text) const;

  // Whether every reachable key, and its value, stays inside the array. Other readers depend on it.
  bool is_sound() const;

 private:
  // Calls `found(value, length of the key)` for each key that is a prefix of `text`, shortest first, until it returns
  // false.
  template <class Found>
  void walk(std::string_view text, Found&& found) const;
  std::optional<std::string_view> replacement(size_t value) const;

  std::vector<u32> units_;
  std::string replacements_;
};

}  // namespace megalith::hf
