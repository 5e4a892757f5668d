// Cuts a template into text, tags and the tokens inside tags, like Jinja with trim_blocks and lstrip_blocks.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "base/dtype.h"

namespace megalith::chat {

struct Token {
  enum class Kind { text, print_begin, print_end, block_begin, block_end, name, string, whole, number, sign, end };
  Kind kind;
  std::string text;  // of a string: its value
  int line;
};

// The last token is `end`. Fails with "line N: ..".
std::vector<Token> cut_template(std::string_view source);

}  // namespace megalith::chat
