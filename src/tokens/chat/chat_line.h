// One line of a chat file: {"messages": [{"role": .., "content": ..}, ..]}, and optionally "tools".
#pragma once
#include <string_view>
#include <vector>

#include "tokens/chat/value.h"

namespace megalith::chat {

struct Chat {
  // Mappings, each with a string "role". As in transformers, null members are dropped. The model's reasoning has the
  // names "reasoning_content" and "thinking", whatever its name in the file.
  List messages;
  Value tools = None{};  // none or a list of mappings
};

// The conversations of a line. As in Megatron, each "system" message begins one. Messages, tools and tool calls that
// are JSON text are parsed. It fails, with the reason, on a line without messages and a message without a
// role. It also fails on a conversation without an assistant and a member of a wrong type.
std::vector<Chat> chats_of(const Value& line);

bool is_assistant(const Value& message);

}  // namespace megalith::chat
