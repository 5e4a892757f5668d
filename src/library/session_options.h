// The options of a session, from a command's flags. What only the command's loop does is refused by name.
#pragma once
#include <string>
#include <vector>

#include "settings/options.h"

namespace megalith {

struct SessionShape {
  int world_size = 1;
  bool own_model = false;  // the caller's: of the model's flags only seq-length and vocab-size mean something
};

// Error with all that is wrong in one line.
Options session_options(const std::vector<std::string>& words, const SessionShape& shape);

}  // namespace megalith
