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

  // Whether every key that the array can reach stays within it, and so does its value: what other readers rely on.
  bool is_sound() const;

 private:
  std::vector<u32> units_;
  std::string replacements_;
};

}  // namespace megalith::hf
