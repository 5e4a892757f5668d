// Flags without a field: another program's, known by name. Also the effect of those on a command line.
#pragma once
#include <cstddef>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace megalith::config {

struct OtherFlag {
  enum class Takes { nothing, one, many };
  std::string flag;
  bool accepted = false;  // accepted: has no effect and says why; otherwise refused with the reason
  Takes takes = Takes::nothing;
  std::string why;
  std::vector<std::string> neutral = {};    // of a refused flag: values that ask for the default behaviour
  std::vector<std::string> only_with = {};  // of a refused flag: it has no meaning without any of these
  std::vector<std::string> means = {};      // an old spelling: the words for it today; its values follow them
  std::vector<std::string> instead = {};    // of a refused flag: the words that come nearest; its values follow a flag
};

// One that was written.
struct OtherUse {
  const OtherFlag* other;
  std::vector<std::string> values;
  std::string name;           // in messages: the flag, or a file, its line and key
  size_t begin = 0, end = 0;  // its words on the command line; 0, 0: it is in a file
};

// Flags refused for one reason, as one line.
struct Refusal {
  std::vector<std::string> names;
  std::string why;
  std::string text() const;  // "--a, --b: why"
};

struct Fates {
  std::vector<std::string> notes;  // a line for each reason why flags have no effect
  std::vector<Refusal> refusals;
  std::vector<const OtherUse*> refused;
};

// `given`: the flags of fields that were written.
Fates fates_of(std::span<const OtherUse> uses, const std::set<std::string, std::less<>>& given);

// The command line without refused flags and with current spellings. Words are quoted for a shell.
std::string line_without(std::span<const std::string> words, std::span<const OtherUse> uses,
                         std::span<const OtherUse* const> refused);

}  // namespace megalith::config
