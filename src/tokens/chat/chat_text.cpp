#include "tokens/chat/chat_text.h"

#include <algorithm>

#include "base/check.h"
#include "tokens/chat/python_text.h"

namespace megalith::chat {

namespace {

class ChatRenderer {
 public:
  ChatRenderer(const ChatFormat& format, const Chat& chat)
      : text_(format.template_for(chat)), variables_(format.variables), chat_(chat) {
    variables_.set("tools", chat.tools);
    variables_.set("documents", None{});
  }

  // Of the first messages.
  Rendered first(size_t count, bool prompt) {
    const auto begin = chat_.messages.begin();
    variables_.set("messages", List(begin, begin + std::ptrdiff_t(count)));
    variables_.set("add_generation_prompt", prompt);
    return text_.render(variables_);
  }

  // [begin, end) of turn i in the whole text.
  std::pair<size_t, size_t> turn(size_t i, const std::string& whole) {
    const std::string upto = first(i + 1, false).text;
    check(whole.starts_with(upto),
          "{}: what comes behind message {} changes the text before it, so the assistant's part cannot be told: use a "
          "template with {{% generation %}} marks, or one conversation for each turn",
          text_.where(), i);
    const std::string header = first(i, true).text;
    if (upto.starts_with(header)) return {header.size(), upto.size()};
    const std::string before = i == 0 ? "" : first(i, false).text;
    check(upto.starts_with(before),
          "{}: message {} changes the text before it, so the assistant's part cannot be told: use a template with "
          "{{% generation %}} marks",
          text_.where(), i);
    return {header_end(header, before.size(), upto, i), upto.size()};
  }

 private:
  // The generation prompt says more than the turn does (<think>): the header is what the two have in common, but for
  // what the assistant said. Nothing in common: the prompt is no header of this turn.
  size_t header_end(const std::string& header, size_t before, const std::string& upto, size_t i) const {
    const auto parted = std::ranges::mismatch(header, upto);
    size_t end = size_t(parted.in1 - header.begin());
    check(end > before || header.size() <= before,
          "{}: the generation prompt is no beginning of message {}, so the assistant's part cannot be told: use a "
          "template with {{% generation %}} marks",
          text_.where(), i);
    for (const auto& [key, value] : chat_.messages[i].dict()->items) {
      const std::string_view said = key == "role" || !value.string() ? "" : strip(*value.string());
      const size_t at = said.empty() ? std::string::npos : upto.find(said, before);
      if (at < end && at > before) end = at;
    }
    return std::max(end, before);
  }

  const Template& text_;
  Dict variables_;
  const Chat& chat_;
};

}  // namespace

Rendered render_chat(const ChatFormat& format, const Chat& chat) {
  ChatRenderer renderer(format, chat);
  Rendered out = renderer.first(chat.messages.size(), false);
  if (format.template_for(chat).has_generation()) return out;
  for (size_t i = 0; i < chat.messages.size(); ++i)
    if (is_assistant(chat.messages[i])) out.generations.push_back(renderer.turn(i, out.text));
  return out;
}

}  // namespace megalith::chat
