#include "tokens/chat/chat_line.h"

#include <algorithm>

#include "base/check.h"

namespace megalith::chat {

namespace {

std::string_view role_of(const Value& message) { return *message.dict()->find("role")->string(); }

Value without_nulls(const Value& message, size_t number) {
  check(message.dict() != nullptr, "message {} is {}: want {{\"role\": .., \"content\": ..}}", number, message.kind());
  Dict out;
  for (const auto& [key, value] : message.dict()->items)
    if (!value.none()) out.set(key, value);
  const Value* role = out.find("role");
  check(role && role->string(), "message {} has no \"role\": want system, user, assistant or tool", number);
  return out;
}

}  // namespace

bool is_assistant(const Value& message) { return role_of(message) == "assistant"; }

std::vector<Chat> chats_of(const Value& line) {
  check(line.dict() != nullptr, "not a JSON object: want {{\"messages\": [..]}}");
  const Value* messages = line.dict()->find("messages");
  check(messages && messages->list(),
        "no list \"messages\": want {{\"messages\": [{{\"role\": .., \"content\": ..}}]}}");
  check(!messages->list()->empty(), "\"messages\" is empty: remove the line");
  const Value* tools = line.dict()->find("tools");
  std::vector<Chat> chats;
  for (const Value& raw : *messages->list()) {
    Value message = without_nulls(raw, size_t(&raw - messages->list()->data()));
    if (chats.empty() || role_of(message) == "system") chats.push_back({{}, tools ? *tools : Value(None{})});
    chats.back().messages.push_back(std::move(message));
  }
  for (const Chat& chat : chats)
    check(std::ranges::any_of(chat.messages, is_assistant),
          "a conversation of {} messages has none of the assistant: "
          "there is nothing to learn, remove it",
          chat.messages.size());
  return chats;
}

}  // namespace megalith::chat
