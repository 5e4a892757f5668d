#include "base/pattern.h"

#include <regex>

namespace megalith {

static Groups groups_of(const std::smatch& found) {
  Groups out;
  for (const auto& group : found) out.push_back(group.matched ? std::optional(group.str()) : std::nullopt);
  return out;
}

Groups match_all(const std::string& text, const char* pattern) {
  std::smatch found;
  return std::regex_match(text, found, std::regex(pattern)) ? groups_of(found) : Groups{};
}

Groups find_first(const std::string& text, const char* pattern) {
  std::smatch found;
  return std::regex_search(text, found, std::regex(pattern)) ? groups_of(found) : Groups{};
}

std::vector<Groups> find_each(const std::string& text, const char* pattern) {
  const std::regex of(pattern);
  std::vector<Groups> out;
  for (auto it = std::sregex_iterator(text.begin(), text.end(), of); it != std::sregex_iterator(); ++it)
    out.push_back(groups_of(*it));
  return out;
}

}  // namespace megalith
