#include "base/wrap.h"

#include <algorithm>
#include <vector>

namespace megalith {

namespace {

// Words that would begin a list or a heading at the start of a line.
bool is_mark(std::string_view word) {
  const bool number = word.size() > 1 && (word.back() == '.' || word.back() == ')') &&
                      std::ranges::all_of(word.substr(0, word.size() - 1), [](char c) { return c >= '0' && c <= '9'; });
  return number || word == "-" || word == "+" || word == "*" || word.starts_with('#') || word.starts_with('>');
}

// Words, joined with a following word that must not start a line.
std::vector<std::string> words_of(std::string_view line) {
  std::vector<std::string> out;
  size_t begin = 0;
  bool code = false;
  for (size_t i = 0; i <= line.size(); ++i) {
    if (i < line.size() && line[i] == '`') code = !code;
    if (i < line.size() && (line[i] != ' ' || code)) continue;
    const std::string_view word = line.substr(begin, i - begin);
    if (!out.empty() && is_mark(word))
      out.back().append(" ").append(word);
    else
      out.emplace_back(word);
    begin = i + 1;
  }
  return out;
}

}  // namespace

std::string wrap_markdown(std::string_view text, size_t width) {
  std::string out;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    std::string_view line = text.substr(begin, end - begin);
    begin = end + 1;
    size_t indent = std::min(line.find_first_not_of(' '), line.size());
    if (line.substr(indent).starts_with("- ")) indent += 2;
    std::string now(line.substr(0, indent));
    bool is_first = true;
    for (const std::string& word : words_of(line.substr(indent))) {
      if (!is_first && now.size() + 1 + word.size() > width) {
        out += now + "\n";
        now.assign(indent, ' ');
        is_first = true;
      }
      now += (is_first ? "" : " ") + word;
      is_first = false;
    }
    out += now + (end < text.size() ? "\n" : "");
  }
  return out;
}

}  // namespace megalith
