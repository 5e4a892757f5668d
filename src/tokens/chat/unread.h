// Finds members of a conversation that the template does not read, so its text does not contain them.
#pragma once
#include <map>
#include <string>

#include "tokens/chat/chat_line.h"
#include "tokens/chat/template.h"

namespace megalith::chat {

// Counts them by name. A member counts as read if the template contains its name, as a name or as a text.
void count_unread(const Chat& chat, const Template& text, std::map<std::string, i64>& counts);

}  // namespace megalith::chat
