// --layout auto: the planner chooses for the ranks that are there how they share a training run.
#pragma once
#include <string>
#include <vector>

#include "comm/ranks.h"
#include "plan/interpreter.h"
#include "settings/options.h"

namespace megalith {

// To be called by all ranks. `options`: as read, nothing derived; they must ask for it. The flags that say the choice,
// the same on all ranks; rank 0 searches, and prints what it chose. Error, on all ranks, where no layout fits.
std::vector<std::string> chosen_layout(const Options& options, const Backend& backend, Ranks& ranks);

}  // namespace megalith
