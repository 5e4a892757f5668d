// Fuzz targets. To add one, write fuzz/targets/NAME.cpp with the two functions below in namespace megalith::fuzz::NAME.
// Then add a line to targets.def. libFuzzer runs it as bin/fuzz-NAME (libfuzzer.cpp, scripts/fuzz).
// tests/fuzz/fuzz_test.cpp runs it with its own mutations in every test run.
#pragma once
#include <span>
#include <string>
#include <string_view>
#include <vector>

#define FUZZ_TARGET(NAME)                                        \
  namespace megalith::fuzz::NAME {                               \
  void feed(std::string_view input, const std::string& scratch); \
  std::vector<std::string> seeds();                              \
  }
#include "fuzz/targets.def"
#undef FUZZ_TARGET

namespace megalith::fuzz {

struct Target {
  std::string_view name;
  // Runs the code with the input. The code may succeed or throw an Error of one line. A crash or any other exception is
  // a finding. scratch: a writable path, the same in each call.
  void (*feed)(std::string_view input, const std::string& scratch);
  // Small valid inputs to start from.
  std::vector<std::string> (*seeds)();
};

std::span<const Target> targets();

// Returns true if the target accepted the input, false if it refused the input with an Error. Any other exception
// leaves this function. More than kMostSeconds of CPU time is a finding too.
bool feed_once(const Target& target, std::string_view input, const std::string& scratch);
inline constexpr double kMostSeconds = 1;

}  // namespace megalith::fuzz
