#include "cli/foreign/flag_words.h"

#include <algorithm>

namespace megalith {

FlagWords read_flag_words(const std::vector<std::string>& words) {
  FlagWords out;
  for (const std::string& word : words) {
    if (!word.starts_with("--") || word.size() == 2) {
      (out.flags.empty() ? out.bare : out.flags.back().values).push_back(word);
      continue;
    }
    const std::size_t equals = word.find('=');
    FlagWords::Flag flag{.name = word.substr(0, equals), .written = word.substr(0, equals), .values = {}};
    std::ranges::replace(flag.name, '_', '-');
    if (equals != std::string::npos) flag.values.push_back(word.substr(equals + 1));
    out.flags.push_back(std::move(flag));
  }
  return out;
}

bool is_among(std::string_view name, std::string_view list) {
  for (std::size_t at = 0; at < list.size();) {
    const std::size_t end = std::min(list.find(' ', at), list.size());
    if (list.substr(at, end - at) == name) return true;
    at = end + 1;
  }
  return false;
}

}  // namespace megalith
