// A conversation as text, and which of it the assistant wrote.
#pragma once
#include "tokens/chat/chat_format.h"
#include "tokens/chat/chat_line.h"

namespace megalith::chat {

// Renders the conversation. `generations` are the template's {% generation %} marks if it has them. Else the template
// is rendered once more up to each assistant's turn and up to its end: the turn is the text between. The first of these
// has add_generation_prompt if the turn begins so; its header is then not the assistant's. Fails if one rendering does
// not begin with the other, as with templates that change what came before.
Rendered render_chat(const ChatFormat& format, const Chat& chat);

}  // namespace megalith::chat
