#include "settings/megatron_flags.h"

#include <fmt/ranges.h>

#include <sstream>

#include "settings/megatron_rows.h"

namespace megalith {
namespace {

using config::OtherFlag;

std::vector<std::string> cut(const std::string& text, char at) {
  std::vector<std::string> parts;
  std::istringstream in(text);
  for (std::string part; std::getline(in, part, at);)
    if (!part.empty()) parts.push_back(part);
  return parts;
}

OtherFlag flag_of(const std::string& word, const char* why) {
  const size_t equals = word.find('=');
  OtherFlag flag{.flag = word.substr(0, equals), .why = why};
  if (equals == std::string::npos) return flag;
  const bool many = word.size() > equals + 1 && word[equals + 1] == '*';
  flag.takes = many ? OtherFlag::Takes::many : OtherFlag::Takes::one;
  flag.neutral = cut(word.substr(equals + 1 + many), '|');
  return flag;
}

// The flags of a row, with Megatron's second spelling of flags that turn something off.
std::vector<OtherFlag> flags_of(const char* words, const char* why) {
  std::vector<OtherFlag> flags;
  for (const std::string& word : cut(words, ' ')) {
    flags.push_back(flag_of(word, why));
    if (!word.starts_with("--no-")) continue;
    flags.push_back(flags.back());
    flags.back().flag = "--disable-" + flags.back().flag.substr(5);
  }
  return flags;
}

void add_feature(const megatron::Feature& feature, std::vector<OtherFlag>& all) {
  std::vector<std::string> with = cut(feature.with, ' ');
  for (OtherFlag& flag : flags_of(feature.switches, feature.why)) {
    with.push_back(flag.flag);
    all.push_back(std::move(flag));
  }
  for (OtherFlag& flag : flags_of(feature.tuning, feature.why)) {
    flag.only_with = with;
    all.push_back(std::move(flag));
  }
}

void add_elsewhere(const megatron::Elsewhere& row, std::vector<OtherFlag>& all) {
  for (OtherFlag& flag : flags_of(row.flags, row.why)) {
    if (*row.words) flag.why = fmt::format("write {}", row.words);
    flag.instead = cut(row.words, ' ');
    all.push_back(std::move(flag));
  }
}

std::vector<OtherFlag> all_flags() {
  std::vector<OtherFlag> all;
  for (const megatron::Row& row : megatron::accepted())
    for (OtherFlag& flag : flags_of(row.flags, row.why)) {
      flag.accepted = true;
      all.push_back(std::move(flag));
    }
  for (const megatron::Feature& feature : megatron::missing_of_model()) add_feature(feature, all);
  for (const megatron::Feature& feature : megatron::missing_of_run()) add_feature(feature, all);
  for (const megatron::Spelling& spelling : megatron::old_spellings()) {
    OtherFlag flag = flag_of(spelling.flag, "");
    flag.means = cut(spelling.today, ' ');
    all.push_back(std::move(flag));
  }
  for (const megatron::Elsewhere& row : megatron::names_elsewhere()) add_elsewhere(row, all);
  for (const megatron::Spelling& nearest : megatron::nearest_words())
    for (OtherFlag& flag : all)
      if (flag.flag == nearest.flag) flag.instead = cut(nearest.today, ' ');
  return all;
}

std::string list_of(const std::vector<OtherFlag>& flags) {
  std::vector<std::string> names;
  for (const OtherFlag& flag : flags) names.push_back("`" + flag.flag + "`");
  return fmt::format("{}", fmt::join(names, ", "));
}

std::string list_of(const megatron::Feature& feature) {
  std::string out = fmt::format("- {}: {}\n", feature.why, list_of(flags_of(feature.switches, "")));
  if (*feature.tuning)
    out += fmt::format("  - no effect without {}: {}\n", *feature.switches ? "those" : feature.with,
                       list_of(flags_of(feature.tuning, "")));
  return out;
}

}  // namespace

std::span<const OtherFlag> megatron_flags() {
  static const std::vector<OtherFlag> flags = all_flags();
  return flags;
}

std::string megatron_flags_markdown() {
  std::string out = "## Megatron's flags that are accepted and have no effect\n\n";
  for (const megatron::Row& row : megatron::accepted())
    out += fmt::format("- {}: {}\n", row.why, list_of(flags_of(row.flags, row.why)));
  out += "\n## Megatron's flags that are refused\n\n";
  for (const megatron::Feature& feature : megatron::missing_of_model()) out += list_of(feature);
  for (const megatron::Feature& feature : megatron::missing_of_run()) out += list_of(feature);
  out += "\n## Old spellings\n\n";
  for (const megatron::Spelling& spelling : megatron::old_spellings())
    out += fmt::format("- `{}` is read as `{}`\n", flag_of(spelling.flag, "").flag, spelling.today);
  out += "\n## Names in other programs, which are refused\n\n";
  for (const megatron::Elsewhere& row : megatron::names_elsewhere())
    out += fmt::format("- {}: {}\n", *row.words ? fmt::format("write `{}`", row.words) : row.why,
                       list_of(flags_of(row.flags, "")));
  return out;
}

}  // namespace megalith
