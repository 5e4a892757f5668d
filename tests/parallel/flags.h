// Command lines of the test's runs: a small model on a small dataset of short documents.
#pragma once
#include <string>

#include "comm/ranks.h"
#include "settings/options.h"

namespace megalith::parity {

constexpr int kIterations = 10;

// As the program reads a command line, with `more` behind the flags of the model that all runs share.
Options options_of(const std::string& more, int ranks);

// Writes the dataset under this prefix, and names it to options_of().
void make_dataset(const std::string& prefix);
void use_dataset(const std::string& prefix);
// The project of neighbours of that dataset's samples. All ranks call it, and share the work.
void make_neighbors(Ranks& ranks);

}  // namespace megalith::parity
