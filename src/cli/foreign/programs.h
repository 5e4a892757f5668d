// Other programs by their names: `megalith tools/preprocess_data.py ...` is a script's line with only `python` changed.
#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace megalith {

struct NamedProgram {
  std::string command;             // of ours, which does that job
  std::vector<std::string> words;  // for it
  std::string instead;             // where nothing can run: what to do, after the program's name; else empty
};

// What `words` ask for, the first of which is no command of ours: a script's name (`pretrain_gpt.py`, `pretrain_gpt`,
// `tools/checkpoint/convert.py`) or `-m` and a module's. With neither command nor `instead`: nobody knows it.
NamedProgram find_program(const std::vector<std::string>& words);

}  // namespace megalith
