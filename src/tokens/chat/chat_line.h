// One line of a chat file: {"messages": [{"role": .., "content": ..}, ..]}, and "tools" if the model has some.
#pragma once
#include <string_view>
#include <vector>

#include "tokens/chat/value.h"

namespace megalith::chat {

struct Chat {
  List messages;  // mappings, each with a string "role"; members that are null are dropped, as transformers does
  Value tools = None{};
};

// The conversations of a line. As in Megatron each "system" message begins one. Fails with what is wrong: no messages,
// one without a role, a conversation without an assistant.
std::vector<Chat> chats_of(const Value& line);

bool is_assistant(const Value& message);

}  // namespace megalith::chat
