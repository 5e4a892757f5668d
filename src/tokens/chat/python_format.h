// Python's two ways to format values.
#pragma once
#include <string>
#include <string_view>

#include "tokens/chat/call.h"
#include "tokens/chat/value.h"

namespace megalith::chat {

// text % values: a list, a mapping for %(name)s, or one value. Fails if Python fails.
std::string percent_format(std::string_view text, const Value& values, Budget& budget);

// text.format(..): {} {0} {name} {a.b} {a[0]}, with Python's width, sign and precision after a colon.
std::string brace_format(std::string_view text, Call& call);

// float(text). False if Python refuses it.
bool float_of(std::string_view text, double& out);

enum class Pad { left, right, both };
// Padded to a width in characters.
std::string padded(std::string_view text, i64 width, char fill, Pad where);

}  // namespace megalith::chat
