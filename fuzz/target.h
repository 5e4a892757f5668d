// Fuzz targets. To add one: fuzz/targets/NAME.cpp with the two functions below in namespace megalith::fuzz::NAME, and a
// line in targets.def. libFuzzer drives it as bin/fuzz-NAME (libfuzzer.cpp, scripts/fuzz), and tests/fuzz/fuzz_test.cpp
// with mutations of its own in every test run.
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
  // Gives the input to the code. It may succeed or throw an Error of one line; a crash or any other exception is a
  // finding. scratch: a path that may be written, the same in each call.
  void (*feed)(std::string_view input, const std::string& scratch);
  // Small inputs to start from, all of which the code accepts.
  std::vector<std::string> (*seeds)();
};

std::span<const Target> targets();

// True if the input was accepted, false if it was refused as it should be; anything else is thrown. Processor seconds
// above kMostSeconds are a finding too.
bool feed_once(const Target& target, std::string_view input, const std::string& scratch);
inline constexpr double kMostSeconds = 1;

}  // namespace megalith::fuzz
