// The command that runs a layout.
#pragma once
#include <string>
#include <vector>

#include "search/report.h"

namespace megalith::search {

// Words for pretrain-gpt: the user's flags that the search does not choose, and the flags of the choice.
std::vector<std::string> words_of_run(const Options& base, const Choice& c, const Asked& asked);
// The whole command, with the launcher that GPU ranks need.
std::string command_of(const Options& base, const Choice& c, const Asked& asked);
// Required flags that the user has not given. A plan does not need them.
std::string still_missing(const Options& base, const Asked& asked);

}  // namespace megalith::search
