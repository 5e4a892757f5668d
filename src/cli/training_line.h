// The command line of a training command: its recipe, and its other words.
#pragma once
#include <string>
#include <vector>

#include "comm/place.h"
#include "settings/recipe_options.h"

namespace megalith {

struct TrainingLine {
  std::vector<std::string> words;  // the command's name first; without --recipe and --explain-config
  config::Under under;             // the recipe's settings; empty without --recipe
  std::string trained_by;          // the recipe's command; empty without --recipe
  i64 gpus = 0;                    // of the recipe's name; 0: any number
  bool explain = false;            // --explain-config

  // Its options, with more flags at the end.
  Options read(const std::vector<std::string>& more = {}) const;
};

// Throws Error if the recipe is unknown, needs a feature that is not built, or is for another command.
TrainingLine read_training_line(int argc, const char* const* argv);

// Throws Error if the recipe's name has another number of GPUs.
void check_size(const TrainingLine& line, i64 ranks);

// --explain-config: prints each setting, its value and its source, on rank 0. Then throws Mistakes if the settings
// are invalid.
void explain_config(const TrainingLine& line, Options options, const Place& place);

}  // namespace megalith
