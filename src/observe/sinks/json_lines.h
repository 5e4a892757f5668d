// Files with one JSON object per line; each object has its iteration.
#pragma once
#include <filesystem>

#include "base/dtype.h"

namespace megalith {

struct JsonLines {
  const char* what;  // for messages: "metrics file"
  const char* kind;  // what a line has: "metrics"
  const char* key;   // key of the iteration
};

// Prepares a file for a run that begins after `iteration` (0: from the beginning), and returns its path. Removes
// lines of later iterations: they are from a run that got further than the checkpoint. Removes an incomplete last
// line. A run from the beginning renames an earlier run's file to NAME.1, NAME.2, ... Anything but a regular file (a
// pipe) is unchanged. Error if the file has other content, or cannot be read.
std::filesystem::path at_iteration(const std::filesystem::path& path, i64 iteration, const JsonLines& lines);

}  // namespace megalith
