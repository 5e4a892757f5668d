#include "tokens/chat/chat_text.h"

#include <algorithm>

#include "base/check.h"

namespace megalith::chat {

namespace {

constexpr std::string_view kOther = "\xEE\x80\x80";  // U+E000, which no template writes

size_t common(const std::string& a, const std::string& b) {
  return size_t(std::ranges::mismatch(a, b).in1 - a.begin());
}

bool is_said(std::string_view key) {
  return key == "content" || key == "text" || key == "reasoning_content" || key == "thinking" || key == "reasoning";
}

// A message or a part of its content, with another beginning of what is said.
Value said_otherwise(const Value& v) {
  if (v.string()) return v.string()->empty() ? v : Value(std::string(kOther) + *v.string());
  if (v.list()) {
    List parts;
    for (const Value& part : *v.list()) parts.push_back(said_otherwise(part));
    return parts;
  }
  if (!v.dict()) return v;
  Dict out;
  for (const auto& [key, value] : v.dict()->items) out.set(key, is_said(key) ? said_otherwise(value) : value);
  return out;
}

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
    return render(List(begin, begin + std::ptrdiff_t(count)), prompt);
  }

  // [begin, end) of turn i in the whole text.
  std::pair<size_t, size_t> turn(size_t i, const std::string& whole) {
    const std::string upto = first(i + 1, false).text;
    check(whole.starts_with(upto),
          "{}: what comes behind message {} changes the text before it, so the "
          "assistant's part cannot be told: use a "
          "template with {{% generation %}} marks, or one conversation for "
          "each turn",
          text_.where(), i);
    const std::string header = first(i, true).text;
    if (upto.starts_with(header)) return {header.size(), upto.size()};
    const std::string before = i == 0 ? "" : first(i, false).text;
    check(upto.starts_with(before),
          "{}: message {} changes the text before it, so the assistant's part "
          "cannot be told: use a template with "
          "{{% generation %}} marks",
          text_.where(), i);
    return {header_end(header, before.size(), upto, i), upto.size()};
  }

 private:
  Rendered render(List messages, bool prompt) {
    variables_.set("messages", std::move(messages));
    variables_.set("add_generation_prompt", prompt);
    return text_.render(variables_);
  }

  // The generation prompt says more than the turn does (<think>): the header is
  // what the two have in common, and what stays if the assistant says something
  // else. Nothing in common: the prompt is no header of this turn.
  size_t header_end(const std::string& header, size_t before, const std::string& upto, size_t i) {
    size_t end = common(header, upto);
    check(end > before || header.size() <= before,
          "{}: the generation prompt is no beginning of message {}, so the "
          "assistant's part cannot be told: use a "
          "template with {{% generation %}} marks",
          text_.where(), i);
    Dict plain;
    plain.set("role", std::string_view("assistant")), plain.set("content", kOther);
    for (const Value& other : {said_otherwise(chat_.messages[i]), Value(plain)})
      end = std::min(end, common(upto, with_last(i, other)));
    return std::max(end, before);
  }

  // The text up to message i if that is another one. What the template refuses
  // tells nothing.
  std::string with_last(size_t i, const Value& message) {
    const auto begin = chat_.messages.begin();
    List messages(begin, begin + std::ptrdiff_t(i));
    messages.push_back(message);
    try {
      return render(std::move(messages), false).text;
    } catch (const Error&) {
      return first(i + 1, false).text;
    }
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
