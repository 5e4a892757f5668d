#include "tokens/chat/unread.h"

namespace megalith::chat {

// The model's reasoning is read under the first two names, whatever its name in the file.
static bool is_read(const std::string& key, const Template& text) {
  if (key == "role" || text.has_name(key)) return true;
  const bool thought = key == "reasoning_content" || key == "thinking" || key == "reasoning";
  return thought && (text.has_name("reasoning_content") || text.has_name("thinking"));
}

void count_unread(const Chat& chat, const Template& text, std::map<std::string, i64>& counts) {
  if (chat.tools.truth() && !text.has_name("tools")) ++counts["tools"];
  for (const Value& message : chat.messages) {
    // "thinking" and "reasoning_content" are the same member, so it is counted once.
    const bool both = message.dict()->find("reasoning_content") && message.dict()->find("thinking");
    for (const auto& [key, value] : message.dict()->items)
      if (value.truth() && !is_read(key, text) && !(both && key == "thinking")) ++counts[key];
  }
}

}  // namespace megalith::chat
