// --layout auto: the planner chooses the layout of a training run for the available ranks.
#pragma once
#include <string>
#include <vector>

#include "comm/ranks.h"
#include "plan/interpreter.h"
#include "settings/options.h"

namespace megalith {

// All ranks call it. `options`: as read, without derived values, with --layout auto. Returns the flags of the choice,
// equal on all ranks. Rank 0 searches, and prints its choice. Error, on all ranks, if no layout fits.
std::vector<std::string> chosen_layout(const Options& options, const Backend& backend, Ranks& ranks);

}  // namespace megalith
