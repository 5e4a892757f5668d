#include "config/flag_checks.h"

#include <fmt/ranges.h>

#include <string_view>
#include <vector>

namespace megalith {

void FlagChecks::given(std::initializer_list<std::pair<const char*, bool>> flags) {
  std::vector<std::string_view> missing;
  for (const auto& [words, is_given] : flags) {
    const std::string_view text = words, flag = text.substr(0, text.find(' '));
    if (!is_given && !unread_.contains(flag)) missing.push_back(text);
  }
  hold(missing.empty(), "missing required flags: {}", fmt::join(missing, ", "));
}

}  // namespace megalith
