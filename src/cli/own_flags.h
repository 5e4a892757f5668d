// Reads the flags of a command that has its own config struct: struct Flags with list_fields(Flags&, FieldList&).
#pragma once
#include <fmt/ranges.h>

#include <initializer_list>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/log.h"
#include "config/parse.h"
#include "config/show.h"

namespace megalith {

// False if --help was given; the help is then printed. others: known flags of other programs.
template <class Flags>
bool read_flags(Flags& flags, const std::vector<std::string>& words, std::span<const config::OtherFlag> others = {}) {
  config::FieldList fields = config::fields_of(flags);
  const config::ParseResult r = config::parse(fields, words, others);
  if (r.help) log::say("{}", config::help_text(fields));
  for (const std::string& note : r.notes) log::info("{}", note);
  for (const std::string& warning : r.warnings) log::warn("{}", warning);
  return !r.help;
}
template <class Flags>
bool read_flags(Flags& flags, int argc, const char* const* argv, std::span<const config::OtherFlag> others = {}) {
  return read_flags(flags, std::vector<std::string>(argv + 1, argv + argc), others);
}

// Checks --ckpt-step.
inline void check_step(i64 step) {
  check(step >= 0, "--ckpt-step {}: give the iteration of a checkpoint, or 0 for the latest", step);
}

// Checks that the flags are given. One error names all that are missing.
inline void check_given(std::initializer_list<std::pair<const char*, bool>> flags) {
  std::vector<const char*> missing;
  for (const auto& [flag, is_given] : flags)
    if (!is_given) missing.push_back(flag);
  check(missing.empty(), "missing required flags: {}", fmt::join(missing, ", "));
}

}  // namespace megalith
