// Reads the flags of a command that has its own config struct: struct Flags with list_fields(Flags&, FieldList&).
#pragma once
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "base/log.h"
#include "config/flag_checks.h"
#include "config/parse.h"
#include "config/show.h"

namespace megalith {

// False if --help was given; the help is then printed. others: known flags of other programs. `check`: the command's
// own checks. Mistakes (thrown) has all that is wrong.
template <class Flags>
bool read_flags(Flags& flags, const std::vector<std::string>& words, std::span<const config::OtherFlag> others = {},
                const std::function<void(FlagChecks&)>& check = {}) {
  config::FieldList fields = config::fields_of(flags);
  const config::ParseResult r = config::parse_all(fields, words, others);
  if (r.help) log::say("{}", config::help_text(fields));
  if (r.help) return false;
  for (const std::string& note : r.notes) log::info("{}", note);
  for (const std::string& warning : r.warnings) log::warn("{}", warning);
  FlagChecks checks(r.wrong);
  if (check) check(checks);
  checks.done();
  return true;
}
template <class Flags>
bool read_flags(Flags& flags, int argc, const char* const* argv, std::span<const config::OtherFlag> others = {},
                const std::function<void(FlagChecks&)>& check = {}) {
  return read_flags(flags, std::vector<std::string>(argv + 1, argv + argc), others, check);
}

inline void check_step(FlagChecks& checks, i64 step) {
  checks.hold(step >= 0, "--ckpt-step {}: give the iteration of a checkpoint, or 0 for the latest", step);
}

}  // namespace megalith
