// Runs the programs as a user would: arguments in, exit code and text out; with a clock, a memory gauge, and ways to
// kill.
#pragma once
#include <functional>
#include <string>
#include <vector>

#include "base/dtype.h"

namespace megalith::test {

struct Ran {
  int exit_code = -1;  // -1: ended by a signal
  int signal = 0;
  std::string out, err;
  double cpu_seconds = 0;  // of all its threads: unlike the clock, it does not see what else the machine does
  i64 peak_bytes = 0;

  bool ok() const { return exit_code == 0; }
};

struct RunLimits {
  double seconds = 120;          // then it is killed
  i64 file_bytes = 0;            // no file may grow beyond this; 0: any size
  i64 open_files = 0;            // at once, as `ulimit -Sn` sets it; 0: any number
  int ranks = 1;                 // more: started by mpirun
  std::function<bool()> kill{};  // asked again and again; SIGKILL once it says so
};

bool has_mpirun();

// build/bin/PROGRAM with these words; megalith's commands that compute do so on the CPU, unless the words say where.
Ran run_program(const std::string& program, const std::vector<std::string>& words, const RunLimits& limits = {});

// `megalith` with the words of a line, split at spaces. No shell: nothing is quoted or expanded.
Ran megalith(const std::string& line, const RunLimits& limits = {});

std::vector<std::string> words_of(const std::string& line);

}  // namespace megalith::test
