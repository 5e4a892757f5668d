// The start of a run's log: about ten lines with the most important settings. All arguments are in a file, or in the
// log with --log-level debug.
#pragma once
#include <optional>
#include <string>
#include <string_view>

#include "settings/options.h"

namespace megalith {

// Logs notes about the flags before anything is opened, and all arguments with --log-level debug.
void say_notes(const Options& options);

constexpr std::string_view kDifference = "differs from Megatron: ";  // prefix of such notes in the options

// Facts that are not in the options.
struct RunFacts {
  std::string device;                     // "NVIDIA H200"
  std::string bf16_products = {};         // how products are computed, if that depends on the machine
  i64 needed_bytes = 0;                   // of the rank with the largest plan
  std::optional<int> fullest_stage = {};  // pipeline stage of that rank
  i64 available_bytes = 0;                // available to a rank
  i64 iteration = 0;                      // iteration after which the run begins
  i64 consumed_samples = 0;
  i64 train_iters = 0;         // last iteration
  std::string from;            // the initial checkpoint or model; empty: random weights
  std::string arguments = {};  // the file with all arguments; empty: none
  std::string codes = {};      // number of products that use fp8 or fp4; empty: none
};

std::string run_head(const Options& options, const RunFacts& facts);

// Writes all arguments to a file under --save, and returns its path. If the iteration already has a file with other
// arguments, the name gets a number. A warning, and no path, if it cannot be written.
std::string write_arguments(const Options& options, i64 iteration);

}  // namespace megalith
