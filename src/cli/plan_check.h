// megalith plan --check RUN_DIR: what the plan of a run foretells against what the run did.
#pragma once
#include <string>

#include "settings/options.h"

namespace megalith {

bool asks_for_check(int argc, const char* const* argv);
int command_plan_check(int argc, const char* const* argv);

// Sets the fields that a file of arguments tells (arguments_0000000.txt under --save). Error, one line, where it is no
// such file.
void read_arguments(Options& options, const std::string& path);

// Of a metrics file: milliseconds of an iteration, the median of its lines. Those of the first half are left out where
// there are several, as a run warms up. Error where no line has them.
struct MeasuredSteps {
  double seconds = 0;
  int lines = 0;
};
MeasuredSteps measured_steps(const std::string& path);

}  // namespace megalith
