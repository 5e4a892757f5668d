#include "tokens/chat/unread.h"

namespace megalith::chat {

// Each name of what a model thought is read under the first two.
static bool is_read(const std::string& key, const Template& text) {
  if (key == "role" || text.has_name(key)) return true;
  const bool thought = key == "reasoning_content" || key == "thinking" || key == "reasoning";
  return thought && (text.has_name("reasoning_content") || text.has_name("thinking"));
}

void count_unread(const Chat& chat, const Template& text, std::map<std::string, i64>& counts) {
  if (chat.tools.truth() && !text.has_name("tools")) ++counts["tools"];
  for (const Value& message : chat.messages) {
    // "thinking" and "reasoning_content" are one thought, told once.
    const bool both = message.dict()->find("reasoning_content") && message.dict()->find("thinking");
    for (const auto& [key, value] : message.dict()->items)
      if (value.truth() && !is_read(key, text) && !(both && key == "thinking")) ++counts[key];
  }
}

}  // namespace megalith::chat
