// Functions that several targets use.
#pragma once
#include <fstream>
#include <stdexcept>
#include <string>
#include <string_view>

#include "tokens/tokenizer.h"

namespace megalith::fuzz {

// A text with many scripts, special tokens, white space, an invalid byte, a zero byte and a repetition.
inline constexpr char kTextBytes[] =
    "Hello world's  12345 the \xC3\xA9\xCC\x81 \xE4\xB8\xAD\xE6\x96\x87 <s>x</s>\n\n "
    "\xF0\x9F\x91\x8D\xFF\xE2\x96\x81\x00 don't"
    "ababababab";
inline constexpr std::string_view kText{kTextBytes, sizeof(kTextBytes) - 1};

// Reports a finding if the condition is false.
inline void expect(bool ok, const char* what) {
  if (!ok) throw std::logic_error(what);
}

inline void write(const std::string& file, std::string_view text) {
  std::ofstream(file, std::ios::binary).write(text.data(), std::streamsize(text.size()));
}

// Encodes the text and decodes the ids. Each id must be a token.
inline void use(const Tokenizer& t, std::string_view text) {
  const std::vector<i32> ids = t.encode(text);
  for (i32 id : ids) expect(id >= 0 && id < t.vocab_size(), "an id is outside the vocabulary");
  expect(t.eod() < t.vocab_size() && t.bos() < t.vocab_size() && t.pad() < t.vocab_size(), "a special id is outside");
  t.decode(ids);
}

}  // namespace megalith::fuzz
