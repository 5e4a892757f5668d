// The rows from which megatron_flags() is made. Flags are separated by spaces. `=` after a flag means that it takes a
// value, `=*` any number of them. With `=a|b` or `=*a|b` the values a and b request the default behaviour. `--no-x`
// also means Megatron's `--disable-x`.
#pragma once
#include <span>

namespace megalith::megatron {

// Accepted, without effect.
struct Row {
  const char* why;
  const char* flags;
};

// Features that are not built: `switches` request them and are refused. `tuning` flags are refused together with one of
// those, or with one of the flags `with`; otherwise they have no effect.
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

// A name that other programs have for our words, which take its value, or why there is none.
struct Elsewhere {
  const char* why;
  const char* words;
  const char* flags;
};

std::span<const Row> accepted();
std::span<const Feature> missing_of_model();
std::span<const Feature> missing_of_run();
std::span<const Spelling> old_spellings();
std::span<const Spelling> nearest_words();  // of flags that are refused: what comes nearest, for the line that is left
std::span<const Elsewhere> names_elsewhere();

}  // namespace megalith::megatron
