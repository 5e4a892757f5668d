// The command line, in Megatron's form: `--flag value`, `--flag=value`, switches, and lists that take values up to the
// next flag.
// `--config FILE.yaml` is read first and the command line overrides it. A flag given twice: the last one holds, and
// a warning says so. No abbreviations.
#pragma once
#include <map>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "config/field.h"

namespace megalith::config {

// Which fields were set by the user, and how: for rules such as "at most one of --swiglu and --squared-relu".
struct Given {
  struct Use {
    std::string flag;
    std::vector<std::string> values;
  };
  // By field name: the uses on the command line if it sets the field, else those in the file.
  std::map<std::string, std::vector<Use>, std::less<>> uses;
  std::set<std::string, std::less<>> flags;  // every flag written, also where another one wins

  bool has(std::string_view field) const { return uses.contains(field); }
  bool has_flag(std::string_view flag) const { return flags.contains(flag); }
  // "--a and --b" if two different flags give this field different values, else empty.
  std::string contradiction(std::string_view field) const;
};

// A flag that belongs to no field: another program's, known by name.
struct OtherFlag {
  enum class Takes { nothing, one, many };
  std::string flag;
  bool accepted = false;  // accepted: has no effect, says why; else refused with the reason
  Takes takes = Takes::nothing;
  std::string why;
};

struct ParseResult {
  Given given;
  std::vector<std::string> notes;     // one line for each accepted flag that has no effect
  std::vector<std::string> warnings;  // one line for each field that is set more than once, to different values
  bool help = false;                  // --help or -h was there; nothing else has been looked at
};

// Sets fields from arguments (without the program's name). Throws Error on an unknown flag (naming the nearest), a
// refused flag, a value of the wrong kind, a missing or a surplus value. A word where a flag is wanted is the value of
// the field that is also_bare(), once.
ParseResult parse(FieldList& fields, std::span<const std::string> arguments, std::span<const OtherFlag> others = {});

// One assignment found in a source; apply_settings() carries a source out.
struct Setting {
  Field* field;
  const Spelling* spelling;
  std::vector<std::string> values;  // empty for a switch
  std::string where;                // begins messages: "--lr", "run.yaml line 3: lr"
};
void apply_settings(std::span<const Setting> source, Given& given);

// Finds flags by spelling and refuses unknown ones.
class FlagIndex {
 public:
  FlagIndex(FieldList& fields, std::span<const OtherFlag> others);
  struct Entry {
    Field* field = nullptr;
    const Spelling* spelling = nullptr;
    const OtherFlag* other = nullptr;
  };
  // `flag` with its dashes. `what` begins the message when it is unknown: "unknown flag --num-layer".
  Entry find(const std::string& flag, std::string_view what) const;
  std::string nearest(std::string_view flag) const;
  const Entry& bare() const { return bare_; }  // whose value a word without a flag is; without a field if none's

 private:
  std::map<std::string, Entry, std::less<>> entries_;
  Entry bare_;
};

}  // namespace megalith::config
