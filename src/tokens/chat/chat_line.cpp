#include "tokens/chat/chat_line.h"

#include <algorithm>

#include "base/check.h"
#include "tokens/chat/json_value.h"

namespace megalith::chat {

namespace {

std::string_view role_of(const Value& message) { return *message.dict()->find("role")->string(); }

// Parses a member that is JSON text; other values stay. `name`: its place, for errors.
Value parsed(const Value& v, const std::string& name) {
  if (!v.string()) return v;
  try {
    return JsonValues().read(*v.string());
  } catch (const Error& e) {
    fail("{} is a text that is not JSON: {}", name, e.what());
  }
}

// A list of mappings. The list, and each item, may be JSON text.
List mappings_of(const Value& given, const std::string& name, std::string_view wanted) {
  const Value v = parsed(given, name);
  check(v.list() != nullptr, "{} is {}: want {}", name, v.kind(), wanted);
  List out;
  for (const Value& item : *v.list()) {
    const std::string place = fmt::format("item {} of {}", out.size(), name);
    out.push_back(parsed(item, place));
    check(out.back().dict() != nullptr, "{} is {}: want {}", place, out.back().kind(), wanted);
  }
  return out;
}

void check_arguments(const Dict& call, const std::string& name) {
  const Value* called = call.find("name");
  const Value* arguments = call.find("arguments");
  check(!called || called->string(), "\"name\" in {} is {}: want a text", name, called ? called->kind() : "");
  check(!arguments || arguments->string() || arguments->dict() || arguments->none(),
        "\"arguments\" in {} is {}: want a mapping, or its JSON as a text", name, arguments ? arguments->kind() : "");
}

Value tool_calls_of(const Value& given, const std::string& name) {
  List calls = mappings_of(given, name, R"([{"function": {"name": .., "arguments": {..}}}])");
  for (size_t i = 0; i < calls.size(); ++i) {
    const std::string place = fmt::format("item {} of {}", i, name);
    Dict call = *calls[i].dict();
    if (const Value* function = call.find("function")) {
      const std::string inner = "\"function\" in " + place;
      const Value f = parsed(*function, inner);
      check(f.dict() != nullptr, "{} is {}: want a mapping", inner, f.kind());
      check_arguments(*f.dict(), place);
      call.set("function", f);
    } else {
      check_arguments(call, place);
    }
    calls[i] = Value(std::move(call));
  }
  return calls;
}

void check_content(const Value& content, std::string_view role, size_t number) {
  if (content.string()) return;
  const bool is_result = role != "user" && role != "assistant" && role != "system";
  if (content.dict() && is_result) return;  // a tool's
  check(content.list() != nullptr, "\"content\" of message {} is {}: want a text, or a list of parts", number,
        content.kind());
  for (const Value& part : *content.list()) {
    check(part.string() || part.dict() || is_result,
          "\"content\" of message {} has {} among its parts: want texts or mappings", number, part.kind());
    const Value* text = part.dict() ? part.dict()->find("text") : nullptr;
    check(!text || text->string() || text->none(), "a part of \"content\" of message {} has {} as its \"text\"", number,
          text ? text->kind() : "");
  }
}

constexpr std::string_view kReasoning[] = {"reasoning_content", "thinking", "reasoning"};

// The first of these names that exists gives the first two their value.
Dict with_reasoning(const Dict& message, size_t number) {
  const Value* found = nullptr;
  for (const std::string_view name : kReasoning) {
    const Value* v = message.find(name);
    check(!v || v->string(), "\"{}\" of message {} is {}: want a text", name, number, v ? v->kind() : "");
    if (!found) found = v;
  }
  if (!found) return message;
  Dict out;
  out.set("thinking", *found);
  for (const auto& [key, value] : message.items) out.set(key, value);
  out.set("reasoning_content", *found);
  return out;
}

Value message_of(const Value& raw, size_t number) {
  check(raw.dict() != nullptr, "message {} is {}: want {{\"role\": .., \"content\": ..}}", number, raw.kind());
  Dict out;
  for (const auto& [key, value] : raw.dict()->items)
    if (!value.none()) out.set(key, value);
  const Value* role = out.find("role");
  check(role && role->string(), "message {} has no \"role\": want system, user, assistant or tool", number);
  if (const Value* content = out.find("content")) check_content(*content, *role->string(), number);
  if (const Value* calls = out.find("tool_calls"))
    out.set("tool_calls", tool_calls_of(*calls, fmt::format("\"tool_calls\" of message {}", number)));
  return with_reasoning(out, number);
}

// Tables write an empty text for no tools.
Value tools_of(const Dict& line) {
  const Value* given = line.find("tools");
  if (!given || given->none() || (given->string() && given->string()->empty())) return None{};
  const Value tools = parsed(*given, "\"tools\"");
  if (tools.none()) return tools;
  return mappings_of(tools, "\"tools\"", R"([{"type": "function", "function": {..}}])");
}

}  // namespace

bool is_assistant(const Value& message) { return role_of(message) == "assistant"; }

std::vector<Chat> chats_of(const Value& line) {
  check(line.dict() != nullptr, "not a JSON object: want {{\"messages\": [..]}}");
  const Value* given = line.dict()->find("messages");
  check(given && (given->list() || given->string()),
        "no list \"messages\": want {{\"messages\": [{{\"role\": .., \"content\": ..}}]}}");
  const Value messages = parsed(*given, "\"messages\"");
  check(messages.list() != nullptr, "\"messages\" is {}: want a list", messages.kind());
  check(!messages.list()->empty(), "\"messages\" is empty: remove the line");
  const Value tools = tools_of(*line.dict());
  std::vector<Chat> chats;
  for (const Value& raw : *messages.list()) {
    Value message = message_of(raw, size_t(&raw - messages.list()->data()));
    if (chats.empty() || role_of(message) == "system") chats.push_back({{}, tools});
    chats.back().messages.push_back(std::move(message));
  }
  for (const Chat& chat : chats)
    check(std::ranges::any_of(chat.messages, is_assistant),
          "a conversation of {} messages has none of the assistant: nothing would be learned, remove it",
          chat.messages.size());
  return chats;
}

}  // namespace megalith::chat
