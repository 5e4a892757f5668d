// Text as JSON can hold it.
#pragma once
#include <string>

namespace megalith {

// Bytes that are no UTF-8, as a path may have them, become U+FFFD: the same text that a reader gets when it was written
// to JSON with error_handler_t::replace.
std::string valid_utf8(const std::string& text);

}  // namespace megalith
