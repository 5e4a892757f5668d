// Command lines of the test's runs: a small model and a small dataset of short documents.
#pragma once
#include <string>

#include "comm/ranks.h"
#include "settings/options.h"

namespace megalith::parity {

constexpr int kIterations = 10;

// Parses a command line as the program does: the flags that all runs share, then `more`.
Options options_of(const std::string& more, int ranks);

// Writes the dataset under this prefix. Later calls of options_of() use it.
void make_dataset(const std::string& prefix);
void use_dataset(const std::string& prefix);
// Makes the RETRO project for the samples of that dataset. All ranks must call it, and they divide the work.
void make_neighbors(Ranks& ranks);

}  // namespace megalith::parity
