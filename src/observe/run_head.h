// The start of a run's log: what matters of it, in about ten lines. All arguments are in a file, or in the log with
// --log-level debug.
#pragma once
#include <optional>
#include <string>
#include <string_view>

#include "settings/options.h"

namespace megalith {

// Says what was found in the flags alone, before anything is opened; with --log-level debug all arguments.
void say_notes(const Options& options);

constexpr std::string_view kDifference = "differs from Megatron: ";  // begins such notes of the options

// What the options do not tell.
struct RunFacts {
  std::string device;                     // "NVIDIA H200"
  std::string bf16_products = {};         // how they are made, where that depends on the machine
  i64 needed_bytes = 0;                   // of the rank that needs the most
  std::optional<int> fullest_stage = {};  // of a pipeline: that rank's
  i64 available_bytes = 0;                // to a rank
  i64 iteration = 0;                      // that it begins behind
  i64 consumed_samples = 0;
  i64 train_iters = 0;         // that it ends at
  std::string from;            // the checkpoint or model that it begins with; empty: random weights
  std::string arguments = {};  // the file that holds all arguments; empty: none
  std::string codes = {};      // how many products read codes of fp8 or fp4; empty: none
};

std::string run_head(const Options& options, const RunFacts& facts);

// Writes all arguments to a file of its own under --save, and returns its path. Where the iteration has a file with
// other arguments it gets a number. A warning, and no path, if it can't be written.
std::string write_arguments(const Options& options, i64 iteration);

}  // namespace megalith
