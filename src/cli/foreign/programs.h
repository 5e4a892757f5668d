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

// Whether `word`, the first after our command's name, is a script that the command stands for, as in
// `plan pretrain_gpt.py ...`.
bool is_script_of(std::string_view command, const std::string& word);

}  // namespace megalith
