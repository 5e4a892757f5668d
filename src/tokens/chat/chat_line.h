// One line of a chat file: {"messages": [{"role": .., "content": ..}, ..]}, and "tools" if the model has some.
#pragma once
#include <string_view>
#include <vector>

#include "tokens/chat/value.h"

namespace megalith::chat {

struct Chat {
  // Mappings, each with a string "role". As in transformers, members that are null are dropped, and what the model
  // thought is there as "reasoning_content" and "thinking" whatever name it has.
  List messages;
  Value tools = None{};  // none or a list of mappings
};

// The conversations of a line. As in Megatron each "system" message begins one. Messages, tools and calls of tools that
// are JSON text are parsed. Fails with what is wrong: no messages, one without a role, a conversation without an
// assistant, a member of another type than templates want.
std::vector<Chat> chats_of(const Value& line);

bool is_assistant(const Value& message);

}  // namespace megalith::chat
