#include "launch/resume_advice.h"

#include <fmt/core.h>

#include <optional>

namespace megalith::launch {

// The last value counts, as in the command itself.
static std::optional<std::string> value_of(const std::vector<std::string>& words, const std::string& flag) {
  std::optional<std::string> value;
  for (size_t i = 0; i < words.size(); ++i) {
    if (words[i] == flag && i + 1 < words.size()) value = words[i + 1];
    if (words[i].starts_with(flag + "=")) value = words[i].substr(flag.size() + 1);
  }
  return value;
}

std::string resume_advice(const std::vector<std::string>& command) {
  if (command[0].find('/') != std::string::npos || !command[0].starts_with("pretrain") || value_of(command, "--config"))
    return {};
  const auto save = value_of(command, "--save"), load = value_of(command, "--load");
  if (!save) return "the command has no --save: a restart after a failure begins at iteration 0";
  if (!load) return fmt::format("the command has no --load {}: a restart after a failure begins at iteration 0", *save);
  if (*load != *save)
    return fmt::format(
        "--load {} is not --save {}: a restart after a failure resumes from --load, not from the run's own checkpoints",
        *load, *save);
  return {};
}

}  // namespace megalith::launch
