// Faults that a run plants in itself, so that tests see who notices them: KIND@RANK:ITERATION[:ARGUMENT...].
// Iterations are those of the log: the first step is 1. A fault in a phase of a start has the number of the start
// instead. Under `megalith launch` the first start is 1.
#pragma once
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/dtype.h"

namespace megalith {

struct Fault {
  std::string kind;
  int rank = 0;
  i64 iteration = 0;
  std::vector<std::string> arguments;
  std::string text;  // as it was written

  // The value of an argument KEY=VALUE, and as a number; `otherwise` if it is missing.
  std::string value(std::string_view key, const std::string& otherwise = "") const;
  bool is_of_start() const;  // in a phase of a start: in=init or in=load
  i64 number(std::string_view key, i64 otherwise) const;
  i64 number_of(const std::string& argument) const;  // of one without a key
  // Error unless each argument is one of `plain` first ones, or KEY=VALUE of a known key.
  void check_arguments(size_t plain, std::span<const std::string_view> keys) const;
};

// Error if one is misspelt. Storms (inject/storm.h) are left out.
std::vector<Fault> parse_faults(const std::vector<std::string>& texts);

// The words of a variable: faults with spaces or commas between them.
std::vector<std::string> fault_words(std::string_view text);

// The words of this start of a launch. Faults of iterations strike in the first start only: a repeated iteration has
// none. A storm is in all starts.
std::vector<std::string> faults_of_start(const std::vector<std::string>& texts, i64 start);

}  // namespace megalith
