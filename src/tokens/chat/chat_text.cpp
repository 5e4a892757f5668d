#include "tokens/chat/chat_text.h"

#include "base/check.h"

namespace megalith::chat {

namespace {

class ChatRenderer {
 public:
  ChatRenderer(const ChatFormat& format, const Chat& chat)
      : format_(format), variables_(format.variables), chat_(chat) {
    variables_.set("tools", chat.tools);
    variables_.set("documents", None{});
  }

  // Of the first messages.
  Rendered first(size_t count, bool prompt) {
    const auto begin = chat_.messages.begin();
    variables_.set("messages", List(begin, begin + std::ptrdiff_t(count)));
    variables_.set("add_generation_prompt", prompt);
    return format_.text.render(variables_);
  }

  // [begin, end) of turn i in the whole text.
  std::pair<size_t, size_t> turn(size_t i, const std::string& whole) {
    const std::string upto = first(i + 1, false).text;
    check(whole.starts_with(upto),
          "{}: what comes behind message {} changes the text before it, so the assistant's part cannot be told: use a "
          "template with {{% generation %}} marks, or one conversation for each turn",
          format_.text.where(), i);
    for (const bool prompt : {true, false}) {
      const std::string before = i == 0 && !prompt ? "" : first(i, prompt).text;
      if (upto.starts_with(before)) return {before.size(), upto.size()};
    }
    fail(
        "{}: message {} changes the text before it, so the assistant's part cannot be told: use a template with "
        "{{% generation %}} marks",
        format_.text.where(), i);
  }

 private:
  const ChatFormat& format_;
  Dict variables_;
  const Chat& chat_;
};

}  // namespace

Rendered render_chat(const ChatFormat& format, const Chat& chat) {
  ChatRenderer renderer(format, chat);
  Rendered out = renderer.first(chat.messages.size(), false);
  if (format.text.has_generation()) return out;
  for (size_t i = 0; i < chat.messages.size(); ++i)
    if (is_assistant(chat.messages[i])) out.generations.push_back(renderer.turn(i, out.text));
  return out;
}

}  // namespace megalith::chat
