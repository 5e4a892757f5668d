// The command line, in Megatron's form: `--flag value`, `--flag=value`, switches, and lists that take values up to
// the next flag. `--config FILE.yaml` is read first, and the command line overrides it. If a flag is given twice the
// last one counts, with a warning. There are no abbreviations. One pass finds all mistakes.
#pragma once
#include <map>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "config/field.h"
#include "config/other_flag.h"

namespace megalith::config {

// Which fields were set by the user, and how: for rules such as "at most one of --swiglu and --squared-relu".
struct Given {
  enum class From { under, file, line };  // over.h, --config, the command line: later ones take precedence
  struct Use {
    std::string flag;
    std::vector<std::string> values;
    From from = From::line;
  };
  // By field name: the uses on the command line if it sets the field, else those in the file.
  std::map<std::string, std::vector<Use>, std::less<>> uses;
  std::set<std::string, std::less<>> flags;  // every flag written, also where another one wins

  bool has(std::string_view field) const { return uses.contains(field); }
  bool has_flag(std::string_view flag) const { return flags.contains(flag); }
  // "--a and --b" if two different flags give this field different values, otherwise empty.
  std::string contradiction(std::string_view field) const;
};

// The words and settings that could not be used.
struct Wrong {
  std::vector<std::string> mistakes;          // one line each: unknown flags, and values wrong, missing or surplus
  std::set<std::string, std::less<>> unread;  // of fields: values wrong or missing, or the flag misspelt
  std::vector<Refusal> refusals;              // other programs' flags for features that are not built
  std::string rest;  // with refusals: the command line without them; empty where a file has some
  bool any() const { return !mistakes.empty() || !refusals.empty(); }
  std::vector<std::string> lines() const;  // one for each mistake and each refusal
};

struct ParseResult {
  Given given;
  std::vector<std::string> notes;     // one line for each reason why accepted flags have no effect
  std::vector<std::string> warnings;  // one line for each field that is set more than once, to different values
  bool help = false;                  // --help or -h was there; nothing else has been looked at
  Wrong wrong;
};

// Sets fields from arguments (without the program's name), as far as they are readable; the result has the mistakes.
// A word in a flag's place is the value of the field that is also_bare(), once.
ParseResult parse_all(FieldList& fields, std::span<const std::string> arguments,
                      std::span<const OtherFlag> others = {});

// The same for callers that want all or nothing: throws Mistakes (base/mistakes.h).
ParseResult parse(FieldList& fields, std::span<const std::string> arguments, std::span<const OtherFlag> others = {});

// One assignment found in a source.
struct Setting {
  Field* field;
  const Spelling* spelling;
  std::vector<std::string> values;  // empty for a switch
  std::string where;                // begins messages: "--lr", "run.yaml line 3: lr"
};

// The content of a source: the command line or a file.
struct Source {
  Given::From from = Given::From::line;
  std::vector<Setting> settings;
  std::vector<OtherUse> others;
  std::vector<std::string> mistakes;
  std::set<std::string, std::less<>> unread;
};

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
  const Entry* known(std::string_view flag) const;        // nullptr if it is not
  std::string nearest(const std::string& written) const;  // empty if none is near
  std::string completion(const std::string& flag) const;
  const Entry& bare() const { return bare_; }  // whose value a word without a flag is; without a field if none's

 private:
  std::map<std::string, Entry, std::less<>> entries_;
  Entry bare_;
};

}  // namespace megalith::config
