// A conversation as text, and which of it the assistant wrote.
#pragma once
#include "tokens/chat/chat_format.h"
#include "tokens/chat/chat_line.h"

namespace megalith::chat {

// Renders the conversation. `generations` are the template's {% generation %} marks if it has them. Else the template
// is rendered once more up to each assistant's turn (with add_generation_prompt, whose header is then not the
// assistant's, if that is how the turn begins) and up to its end: the turn is what lies between. Fails if one rendering
// does not begin with the other, as with templates that change what came before.
Rendered render_chat(const ChatFormat& format, const Chat& chat);

}  // namespace megalith::chat
