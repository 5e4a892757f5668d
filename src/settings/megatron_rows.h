// The rows from which megatron_flags() is made. Flags are separated by spaces. A `=` after a flag says that it takes a
// value, `=*` any number of them. After `=a|b` or `=*a|b` the values a and b ask for what is so without the flag.
// `--no-x` stands for Megatron's `--disable-x` too.
#pragma once
#include <span>

namespace megalith::megatron {

// Accepted, without effect.
struct Row {
  const char* why;
  const char* flags;
};

// What is not there: `switches` ask for it and are refused; `tuning` flags are refused beside one of those, or of the
// fields' flags `with`, and have no effect otherwise.
struct Feature {
  const char* why;
  const char* switches;
  const char* tuning;
  const char* with;
};

struct Spelling {
  const char* flag;
  const char* today;
};

std::span<const Row> accepted();
std::span<const Feature> missing_of_model();
std::span<const Feature> missing_of_run();
std::span<const Spelling> old_spellings();
std::span<const Spelling> nearest_words();  // of flags that are refused: what comes nearest, for the line that is left

}  // namespace megalith::megatron
