#include "tokens/chat/chat_text.h"

#include <algorithm>

#include "base/check.h"

namespace megalith::chat {

namespace {

constexpr std::string_view kOther = "\xEE\x80\x80";  // U+E000, which no template contains

size_t common(const std::string& a, const std::string& b) {
  return size_t(std::ranges::mismatch(a, b).in1 - a.begin());
}

bool is_said(std::string_view key) {
  return key == "content" || key == "text" || key == "reasoning_content" || key == "thinking" || key == "reasoning";
}

// A message, or a part of its content, whose text begins differently.
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

  // Renders the first messages.
  Rendered first(size_t count, bool prompt) {
    const auto begin = chat_.messages.begin();
    return render(List(begin, begin + std::ptrdiff_t(count)), prompt);
  }

  // [begin, end) of turn i in the full text.
  std::pair<size_t, size_t> turn(size_t i, const std::string& whole) {
    const std::string upto = first(i + 1, false).text;
    check(whole.starts_with(upto),
          "{}: the messages after message {} change the text before it, so the "
          "assistant's text cannot be determined: use a "
          "template with {{% generation %}} marks, or one conversation for "
          "each turn",
          text_.where(), i);
    const std::string header = first(i, true).text;
    if (upto.starts_with(header)) return {header.size(), upto.size()};
    const std::string before = i == 0 ? "" : first(i, false).text;
    check(upto.starts_with(before),
          "{}: message {} changes the text before it, so the assistant's text "
          "cannot be determined: use a template with "
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

  // The generation prompt may be longer than the turn's beginning (<think>). Then the header is their common prefix,
  // as far as it stays when the assistant's text changes. Without a common prefix the prompt is no header of this
  // turn.
  size_t header_end(const std::string& header, size_t before, const std::string& upto, size_t i) {
    size_t end = common(header, upto);
    check(end > before || header.size() <= before,
          "{}: message {} does not begin with the generation prompt, so the "
          "assistant's text cannot be determined: use a "
          "template with {{% generation %}} marks",
          text_.where(), i);
    Dict plain;
    plain.set("role", std::string_view("assistant")), plain.set("content", kOther);
    for (const Value& other : {said_otherwise(chat_.messages[i]), Value(plain)})
      end = std::min(end, common(upto, with_last(i, other)));
    return std::max(end, before);
  }

  // The text up to message i with another message in its place. If the template refuses it, there is no information.
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
