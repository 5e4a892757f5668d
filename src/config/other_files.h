// Recognizes settings files of other programs in --config.
#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace megalith::config {

// Of a file with these keys at its top: whose it is and what to do instead; empty for one of flags.
std::string other_file(const std::vector<std::string>& keys);

}  // namespace megalith::config
