// The words of a command line whose flags are not known beforehand.
#pragma once
#include <string>
#include <vector>

namespace megalith {

struct FlagWords {
  struct Flag {
    std::string name;     // with its dashes; `_` in it is `-`
    std::string written;  // as it stands there
    std::vector<std::string> values;
  };
  std::vector<std::string> bare;  // before the first flag
  std::vector<Flag> flags;
};

// `--flag value ...`, `--flag=value`: a flag takes every word up to the next one.
FlagWords read_flag_words(const std::vector<std::string>& words);

// Whether `name` is one of the words in `list`, which spaces separate.
bool is_among(std::string_view name, std::string_view list);

}  // namespace megalith
