#include "config/odd_word.h"

#include "base/check.h"

namespace megalith::config {

void check_line_ends(std::span<const std::string> words) {
  for (const std::string& word : words)
    check(!word.ends_with('\r'),
          "'{}' ends in a carriage return: the script has Windows line ends; sed -i 's/\\r$//' SCRIPT mends it",
          word.substr(0, word.size() - 1));
}

bool has_typographic_quotes(std::string_view word) {
  for (const char* quote : {"\xE2\x80\x9C", "\xE2\x80\x9D", "\xE2\x80\x9E", "\xE2\x80\x98", "\xE2\x80\x99"})
    if (word.starts_with(quote)) return word.find(' ') == std::string_view::npos;
  return false;
}

std::string odd_word(std::string_view word) {
  if (!word.empty() && word.find_first_not_of(" \t\n\\") == std::string_view::npos)
    return "a blank follows a \\ at the end of a line of the script, or precedes a flag: remove it";
  std::string_view name = word;
  for (const std::string_view dash : {"\xE2\x80\x93", "\xE2\x80\x94", "\xE2\x88\x92", "\xE2\x80\x91", "-"})
    while (name.starts_with(dash)) name.remove_prefix(dash.size());
  if (name.size() < word.size() && word.substr(0, word.size() - name.size()).find('\xE2') != std::string_view::npos)
    return fmt::format("'{}' begins with a typographic dash, which is no minus sign: write --{}", word, name);
  if (word.starts_with("--") && word.find(' ') < word.find('='))
    return fmt::format("'{}' is one word: leave out the quotes", word);
  return {};
}

}  // namespace megalith::config
