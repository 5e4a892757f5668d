// Options over a recipe's settings.
#pragma once
#include <string>
#include <vector>

#include "config/over.h"
#include "settings/options.h"

namespace megalith {

// read_options() over these settings.
Options read_options_over(const config::Under& under, int argc, const char* const* argv);

// One setting: its flag without dashes, its value, and where that is from: a flag, a file and line, a recipe,
// "default", or "derived" where it follows from others.
struct ExplainedSetting {
  std::string name, value, source;
};
// For all settings. `settled`: the options after all derivations.
std::vector<ExplainedSetting> explain(const config::Under& under, std::span<const std::string> words, Options settled);

}  // namespace megalith
