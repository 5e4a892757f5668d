// The files of --input: names, and patterns as in a shell.
#pragma once
#include <string>
#include <vector>

#include "base/dtype.h"

namespace megalith {

struct InputFiles {
  std::vector<std::string> names;  // in the given order; files of one pattern by name
  i64 bytes = 0;                   // on disk, of all files; pipes count as 0
};

// Fails immediately if a file is missing, cannot be opened, or has an unsupported type.
InputFiles find_input_files(const std::vector<std::string>& names_and_patterns);

}  // namespace megalith
