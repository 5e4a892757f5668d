// An Error of several lines: all that is wrong with one input, such as a command line.
#pragma once
#include <string>
#include <vector>

#include "base/check.h"

namespace megalith {

struct Mistakes : Error {
  // `lines`: one for each mistake, at least one. `after`: printed below them, what to do about all; may be empty.
  explicit Mistakes(std::vector<std::string> lines, std::vector<std::string> after = {});

  std::vector<std::string> lines, after;
};

// The error as a user reads it: one line, or for Mistakes their number and then a line for each.
std::string told(const std::exception& error);

}  // namespace megalith
