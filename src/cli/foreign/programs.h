// Finds other programs by name, as in `megalith tools/preprocess_data.py ...`: a script's command line with `python`
// replaced.
#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace megalith {

struct NamedProgram {
  std::string command;             // our command for that job
  std::vector<std::string> words;  // for it
  std::string instead;             // if no command runs: what to do, after the program's name; otherwise empty
};

// The meaning of `words`, whose first one is no command of ours. It may be a script's name (`pretrain_gpt.py`,
// `pretrain_gpt`, `tools/checkpoint/convert.py`), or `-m` and a module's name. Without command and `instead`:
// unknown.
NamedProgram find_program(const std::vector<std::string>& words);

}  // namespace megalith
