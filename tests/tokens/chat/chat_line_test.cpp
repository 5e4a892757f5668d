// Members of a chat line: wrong types are reported, JSON text is parsed, and thoughts are accepted under all their
// names. Members that a template does not read are counted.
#include "tokens/chat/chat_line.h"

#include "tests/tokens/helpers.h"
#include "tokens/chat/json_value.h"
#include "tokens/chat/unread.h"

namespace megalith::chat {

namespace {

constexpr const char* kMessages = R"([{"role": "user", "content": "q"}, {"role": "assistant", "content": "a"}])";

std::vector<Chat> read(const std::string& line) { return chats_of(JsonValues().read(line)); }

std::string with_tools(const std::string& tools) {
  return fmt::format("{{\"messages\": {}, \"tools\": {}}}", kMessages, tools);
}

// An assistant's message with an additional or changed member.
std::string with_member(const std::string& member) {
  return R"({"messages": [{"role": "user", "content": "q"}, {"role": "assistant", )" + member + "}]}";
}

std::string shown(const Value& v) { return to_json(v, {}); }

std::map<std::string, i64> unread(const std::string& line, const std::string& source) {
  std::map<std::string, i64> counts;
  for (const Chat& chat : read(line)) count_unread(chat, Template(source, "t"), counts);
  return counts;
}

using Counts = std::map<std::string, i64>;

}  // namespace

TEST(ChatLine, members_of_a_wrong_type_are_named) {
  const std::string want_tools = ": want [{\"type\": \"function\", \"function\": {..}}]";
  const std::string want_calls = ": want [{\"function\": {\"name\": .., \"arguments\": {..}}}]";
  const std::pair<std::string, std::string> cases[] = {
      {with_tools("\"look it up\""), "\"tools\" is a text that is not JSON: not valid JSON"},
      {with_tools("5"), "\"tools\" is a whole number" + want_tools},
      {with_tools("true"), "\"tools\" is a truth value" + want_tools},
      {with_tools(R"({"type": "function"})"), "\"tools\" is a mapping" + want_tools},
      {with_tools(R"("{}")"), "\"tools\" is a mapping" + want_tools},
      {with_tools("[5]"), "item 0 of \"tools\" is a whole number" + want_tools},
      {with_tools("[{}, null]"), "item 1 of \"tools\" is none" + want_tools},
      {with_tools("[{}, \"look\"]"), "item 1 of \"tools\" is a text that is not JSON: not valid JSON"},
      {with_tools(R"("[[]]")"), "item 0 of \"tools\" is a list" + want_tools},
      {with_member(R"("tool_calls": "look")"),
       "\"tool_calls\" of message 1 is a text that is not JSON: not valid JSON"},
      {with_member(R"("tool_calls": {"name": "look"})"), "\"tool_calls\" of message 1 is a mapping" + want_calls},
      {with_member(R"("tool_calls": [7])"), "item 0 of \"tool_calls\" of message 1 is a whole number" + want_calls},
      {with_member(R"("tool_calls": [{"function": 7}])"),
       "\"function\" in item 0 of \"tool_calls\" of message 1 is a whole number: want a mapping"},
      {with_member(R"("tool_calls": [{"function": {"name": 7}}])"),
       "\"name\" in item 0 of \"tool_calls\" of message 1 is a whole number: want a text"},
      {with_member(R"("tool_calls": [{"name": "look", "arguments": [7]}])"),
       "\"arguments\" in item 0 of \"tool_calls\" of message 1 is a list: want a mapping, or its JSON as a text"},
      {with_member(R"("content": 5)"), "\"content\" of message 1 is a whole number: want a text, or a list of parts"},
      {with_member(R"("content": {"text": "a"})"),
       "\"content\" of message 1 is a mapping: want a text, or a list of parts"},
      {with_member(R"("content": [5])"),
       "\"content\" of message 1 has a whole number among its parts: want texts or mappings"},
      {with_member(R"("content": [{"type": "text", "text": 5}])"),
       "a part of \"content\" of message 1 has a whole number as its \"text\""},
      {with_member(R"("content": "a", "thinking": ["b"])"), "\"thinking\" of message 1 is a list: want a text"},
      {R"({"messages": {"role": "user"}})", "no list \"messages\": want"},
      {R"({"messages": "hello"})", "\"messages\" is a text that is not JSON: not valid JSON"},
      {R"({"messages": "{}"})", "\"messages\" is a mapping: want a list"},
      {R"({"messages": ["hello"]})", "message 0 is a string: want {\"role\": .., \"content\": ..}"},
      {R"({"messages": [{"role": 5}]})", "message 0 has no \"role\": want system, user, assistant or tool"},
  };
  for (const auto& [line, message] : cases) {
    const std::string error = error_of([&] { read(line); });
    EXPECT_TRUE(error.starts_with(message)) << line << "\n" << error << "\n" << message;
    EXPECT_EQ(error.find('\n'), std::string::npos) << error;
  }
}

TEST(ChatLine, json_text_is_parsed) {
  const std::string tool = R"([{"type": "function", "function": {"name": "look"}}])";
  const auto quoted = [](const std::string& text) { return to_json(Value(text), {}); };
  const auto in_list = [&](const std::string& list) {
    return fmt::format("[{}]", quoted(list.substr(1, list.size() - 2)));
  };
  for (const std::string& tools : {tool, quoted(tool), in_list(tool)})
    EXPECT_EQ(shown(read(with_tools(tools))[0].tools), tool) << tools;
  for (const char* nothing : {"null", "\"\"", "\"null\""}) EXPECT_TRUE(read(with_tools(nothing))[0].tools.none());
  EXPECT_EQ(shown(read(with_tools("[]"))[0].tools), "[]");

  const std::string call = R"([{"function": {"name": "look", "arguments": {"at": 1}}}])";
  for (const std::string& calls : {call, quoted(call), in_list(call)})
    EXPECT_EQ(
        shown(*read(with_member(fmt::format("\"tool_calls\": {}", calls)))[0].messages[1].dict()->find("tool_calls")),
        call)
        << calls;
  // The text of arguments stays text, because templates check its type.
  const Chat chat = read(with_member(R"("tool_calls": [{"function": {"name": "f", "arguments": "{\"at\": 1}"}}])"))[0];
  EXPECT_EQ(shown(*chat.messages[1].dict()->find("tool_calls")),
            R"([{"function": {"name": "f", "arguments": "{\"at\": 1}"}}])");
  EXPECT_EQ(shown(read(fmt::format("{{\"messages\": {}}}", quoted(kMessages)))[0].messages), kMessages);
}

// Expected: _alias_reasoning_fields of transformers 5.24 on the message without its nulls.
TEST(ChatLine, thoughts_go_by_all_their_names) {
  const std::pair<std::string, std::string> cases[] = {
      {R"("content": "a")", R"({"role": "assistant", "content": "a"})"},
      {R"("reasoning": "r")", R"({"thinking": "r", "role": "assistant", "reasoning": "r", "reasoning_content": "r"})"},
      {R"("thinking": "t")", R"({"thinking": "t", "role": "assistant", "reasoning_content": "t"})"},
      {R"("reasoning_content": "c", "content": "a")",
       R"({"thinking": "c", "role": "assistant", "reasoning_content": "c", "content": "a"})"},
      {R"("reasoning": "r", "thinking": "t", "reasoning_content": "c")",
       R"({"thinking": "t", "role": "assistant", "reasoning": "r", "reasoning_content": "c"})"},
      {R"("reasoning": "r", "thinking": "t", "reasoning_content": null)",
       R"({"thinking": "t", "role": "assistant", "reasoning": "r", "reasoning_content": "t"})"},
      {R"("reasoning": "r", "thinking": "")",
       R"({"thinking": "", "role": "assistant", "reasoning": "r", "reasoning_content": ""})"},
  };
  for (const auto& [members, message] : cases)
    EXPECT_EQ(shown(read(with_member(members))[0].messages[1]), message) << members;
}

TEST(ChatLine, members_that_a_template_does_not_read_are_counted) {
  const std::string plain = "{% for m in messages %}{{ m.role }}{{ m['content'] }}{% endfor %}";
  EXPECT_EQ(unread(with_tools("[{}]"), plain), (Counts{{"tools", 1}}));
  EXPECT_EQ(unread(with_tools("[]"), plain), Counts{});
  EXPECT_EQ(unread(with_tools("[{}]"), plain + "{{ tools | length }}"), Counts{});
  EXPECT_EQ(unread(with_member(R"("content": "a", "weight": 1, "name": "", "tool_calls": [{"name": "f"}])"), plain),
            (Counts{{"tool_calls", 1}, {"weight", 1}}));
  const std::string two = R"({"messages": [{"role": "assistant", "content": "a", "reasoning": "r"},)"
                          R"({"role": "assistant", "content": "a", "thinking": "r"}]})";
  EXPECT_EQ(unread(two, plain), (Counts{{"reasoning", 1}, {"reasoning_content", 2}}));
  for (const char* name : {"thinking", "reasoning_content"})
    EXPECT_EQ(unread(two, fmt::format("{}{{% if m['{}'] %}}{{% endif %}}", plain, name)), Counts{}) << name;
}

}  // namespace megalith::chat
