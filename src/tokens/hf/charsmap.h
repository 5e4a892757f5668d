// SentencePiece's precompiled table of replacements: a Darts double array that finds the number of a key, and the
// replacements one behind the other, each ended by a zero byte.
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/dtype.h"

namespace megalith::hf {

class Charsmap {
 public:
  // blob: u32 size of the array in bytes, the array, the replacements; little-endian. Fails, naming `where`, if its
  // sizes do not fit together. Whatever the array holds, no look-up leaves it.
  Charsmap(std::string_view blob, std::string_view where);

  // The replacement of the shortest key that `text` begins with.
  std::optional<std::string_view> shortest(std::string_view text) const;

  struct Match {
    std::string_view text;  // the replacement
    size_t length;          // of the key
  };
  // That of the longest key that `text` begins with.
  std::optional<Match> longest(std::string_view text) const;

  // Whether every key that the array can reach stays within it, and so does its value: what other readers rely on.
  bool is_sound() const;

 private:
  // Calls found(value, length of the key) for the keys that `text` begins with, from short to long, while it returns
  // true.
  template <class Found>
  void walk(std::string_view text, Found&& found) const;
  std::optional<std::string_view> replacement(size_t value) const;

  std::vector<u32> units_;
  std::string replacements_;
};

}  // namespace megalith::hf
