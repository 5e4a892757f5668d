// megalith plan --check RUN_DIR: compares the plan of a run with its measurements.
#pragma once
#include <string>

#include "settings/options.h"

namespace megalith {

bool asks_for_check(int argc, const char* const* argv);
int command_plan_check(int argc, const char* const* argv);

// What the plan of a saved run predicts: seconds of a step, and bytes of the fullest rank. `hardware`: facts as of
// --device; empty: the run's device. `options`: set from the arguments in the run's directory.
struct PredictedStep {
  double seconds = 0, bytes = 0;
  std::string source;  // of the facts
};
PredictedStep predicted_step(const std::string& dir, const std::string& hardware, Options& options);

// Sets the fields from a file of arguments (arguments_0000000.txt under --save). Error, one line, for other files.
void read_arguments(Options& options, const std::string& path);

// From a metrics file: milliseconds of an iteration, the median of its lines. With several lines the first half does
// not count, because a run warms up. Error if no line has them.
struct MeasuredSteps {
  double seconds = 0;
  int lines = 0;
};
MeasuredSteps measured_steps(const std::string& path);

}  // namespace megalith
