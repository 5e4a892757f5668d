// A conversation as text, with the ranges that the assistant wrote.
#pragma once
#include "tokens/chat/chat_format.h"
#include "tokens/chat/chat_line.h"

namespace megalith::chat {

// Renders the conversation. `generations` come from the template's {% generation %} marks, if it has them. Otherwise
// the template is also rendered up to each assistant turn, and up to its end; the turn is the difference. The former
// has add_generation_prompt if the turn begins with that prompt, so its header is not trained. Fails if one text is
// not a prefix of the other, as for templates that change earlier messages.
Rendered render_chat(const ChatFormat& format, const Chat& chat);

}  // namespace megalith::chat
