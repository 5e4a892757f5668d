// GPT-2's printable alphabet for bytes, in which token files are written. 33..126, 161..172 and 174..255 stand for
// themselves. The other 68 bytes are U+0100..U+0143, in increasing order.
#pragma once
#include <array>
#include <string>
#include <string_view>

#include "base/dtype.h"

namespace megalith {

const std::array<u32, 256>& byte_alphabet();  // byte -> code point

// The bytes of a token in the file. A token with a character outside the alphabet is its own UTF-8 bytes.
std::string bytes_of_token(std::string_view token);

bool is_in_byte_alphabet(std::string_view token);  // whether all characters are

}  // namespace megalith
