// A command line whose flags are not known in advance.
#pragma once
#include <string>
#include <vector>

namespace megalith {

struct FlagWords {
  struct Flag {
    std::string name;     // with its dashes; `_` is replaced by `-`
    std::string written;  // as on the command line
    std::vector<std::string> values;
  };
  std::vector<std::string> bare;  // before the first flag
  std::vector<Flag> flags;
};

// `--flag value ...`, `--flag=value`: a flag takes all words up to the next flag.
FlagWords read_flag_words(const std::vector<std::string>& words);

// Whether `name` is one of the words in `list`, separated by spaces.
bool is_among(std::string_view name, std::string_view list);

}  // namespace megalith
