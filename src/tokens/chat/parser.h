// Parses a template's text into a tree.
#pragma once
#include <string_view>

#include "tokens/chat/syntax.h"

namespace megalith::chat {

// Fails with one line that begins "line N: ", also on unknown filters, tests and tags.
Statements parse_template(std::string_view source);

}  // namespace megalith::chat
