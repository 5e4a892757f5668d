// The command line of a training command: the recipe that it names, and the words besides.
#pragma once
#include <string>
#include <vector>

#include "comm/place.h"
#include "settings/recipe_options.h"

namespace megalith {

struct TrainingLine {
  std::vector<std::string> words;  // the command's name first; without --recipe and --explain-config
  config::Under under;             // the recipe's settings; no words without --recipe
  std::string trained_by;          // the recipe's command; empty without
  bool explain = false;            // --explain-config

  // Its options, with more flags behind.
  Options read(const std::vector<std::string>& more = {}) const;
};

// Throws Error where the recipe is not known, needs a feature that is not built, or is of another command.
TrainingLine read_training_line(int argc, const char* const* argv);

// --explain-config: prints each setting, its value and its source, on rank 0. Throws Mistakes after that, if the
// settings can't run.
void explain_config(const TrainingLine& line, Options options, const Place& place);

}  // namespace megalith
