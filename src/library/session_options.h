// The options of a session, from a command's flags. Flags that only the command's loop uses are refused by name.
#pragma once
#include <string>
#include <vector>

#include "settings/options.h"

namespace megalith {

struct SessionShape {
  int world_size = 1;
  bool own_model = false;  // the caller's model: only seq-length and vocab-size of the model's flags have a meaning
};

// Error with all mistakes in one line.
Options session_options(const std::vector<std::string>& words, const SessionShape& shape);

}  // namespace megalith
