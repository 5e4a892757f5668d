// From a template's text to its tree.
#pragma once
#include <string_view>

#include "tokens/chat/syntax.h"

namespace megalith::chat {

// Fails with one line that begins "line N: ", also on filters, tests and tags that we don't have.
Statements parse_template(std::string_view source);

}  // namespace megalith::chat
