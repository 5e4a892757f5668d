// Runs the programs: arguments in, exit code and text out. It measures time and memory, and kills runs in several ways.
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
  double cpu_seconds = 0;  // CPU time of all threads; other processes do not change it
  i64 peak_bytes = 0;

  bool ok() const { return exit_code == 0; }
};

struct RunLimits {
  double seconds = 120;          // time limit
  i64 file_bytes = 0;            // maximum file size; 0: none
  i64 open_files = 0;            // limit of open files, as `ulimit -Sn`; 0: none
  int ranks = 1;                 // if more than 1, mpirun starts them
  std::string file{};            // the program's file if it is not build/bin/PROGRAM
  std::string output{};          // OUTPUT.out and OUTPUT.err are the run's texts, for `kill` to read
  std::function<bool()> kill{};  // called repeatedly; if true, the run gets SIGKILL
};

bool has_mpirun();

// Runs build/bin/PROGRAM with these arguments. Commands of megalith run on the CPU, unless the arguments name a device.
Ran run_program(const std::string& program, const std::vector<std::string>& words, const RunLimits& limits = {});

// Runs `megalith` with the words of a line, split at spaces, without a shell.
Ran megalith(const std::string& line, const RunLimits& limits = {});

std::vector<std::string> words_of(const std::string& line);

}  // namespace megalith::test
