// The command that runs a layout.
#pragma once
#include <string>
#include <vector>

#include "search/report.h"

namespace megalith::search {

// The user's own flags that are no choice of the search, and those of the choice, as words for pretrain-gpt.
std::vector<std::string> words_of_run(const Options& base, const Choice& c, const Asked& asked);
// The whole line, with the launcher that GPU ranks need.
std::string command_of(const Options& base, const Choice& c, const Asked& asked);
// Required flags that the user has not given: a plan does without.
std::string still_missing(const Options& base, const Asked& asked);

}  // namespace megalith::search
