// The options of a session, from a command's flags. What only the command's loop does is refused by name.
#pragma once
#include <string>
#include <vector>

#include "settings/options.h"

namespace megalith {

// Those of a GPT on one rank. Error with all that is wrong in one line.
Options session_options(const std::vector<std::string>& words);

}  // namespace megalith
