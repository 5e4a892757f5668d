// What --input names: files, and patterns of files as a shell has them.
#pragma once
#include <string>
#include <vector>

#include "base/dtype.h"

namespace megalith {

struct InputFiles {
  std::vector<std::string> names;  // in the order given; those of one pattern by name
  i64 bytes = 0;                   // of all, as they lie on disk; pipes count as 0
};

// Fails at once if a file is missing, cannot be opened, or is of a kind that is not read.
InputFiles find_input_files(const std::vector<std::string>& names_and_patterns);

}  // namespace megalith
