// GPT-2's printable alphabet for bytes: 33..126, 161..172 and 174..255 stand for themselves, the other 68 bytes in
// increasing order are U+0100..U+0143. Token files are written in it.
#pragma once
#include <array>
#include <string>
#include <string_view>

#include "base/dtype.h"

namespace megalith {

const std::array<u32, 256>& byte_alphabet();  // byte -> code point

// The bytes that a token of the file stands for; a token with a character outside the alphabet is its own UTF-8 bytes.
std::string bytes_of_token(std::string_view token);

bool is_in_byte_alphabet(std::string_view token);  // all its characters

}  // namespace megalith
