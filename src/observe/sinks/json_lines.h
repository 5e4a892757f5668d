// Files of one JSON object a line, each with the iteration that it tells of.
#pragma once
#include <filesystem>

#include "base/dtype.h"

namespace megalith {

struct JsonLines {
  const char* what;  // in messages: "metrics file"
  const char* kind;  // of a line: "metrics"
  const char* key;   // of the iteration
};

// Makes a file ready for a run that starts behind `iteration` (0: from the beginning), and returns its path. Lines of
// later iterations are cut off: a run left them that got further than the checkpoint resumed from. So is a last line
// without its end. A run from the beginning keeps the file of an earlier one beside it, as NAME.1, NAME.2, ...
// Something that is not a regular file (a pipe) stays as it is. Error if the file holds other things, or cannot be
// read.
std::filesystem::path at_iteration(const std::filesystem::path& path, i64 iteration, const JsonLines& lines);

}  // namespace megalith
