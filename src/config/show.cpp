#include "config/show.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <sstream>

namespace megalith::config {
namespace {

constexpr size_t kIndent = 34;
constexpr size_t kWidth = 120;

std::string metavar_of(const Field& field, const Spelling& spelling) {
  if (!spelling.metavar.empty()) return spelling.metavar;
  if (!field.metavar.empty()) return field.metavar;
  if (const auto* e = std::get_if<EnumRef>(&field.ref)) return fmt::format("{{{}}}", fmt::join(e->names, ","));
  if (std::holds_alternative<i64*>(field.ref) || std::holds_alternative<i32*>(field.ref)) return "N";
  if (std::holds_alternative<double*>(field.ref) || std::holds_alternative<std::optional<double>*>(field.ref))
    return "X";
  if (std::holds_alternative<std::string*>(field.ref)) return "TEXT";
  return std::holds_alternative<std::vector<std::string>*>(field.ref) ? "TEXT ..." : "N ...";
}

std::string written(const Field& field, const Spelling& spelling) {
  return spelling.constant ? spelling.flag : spelling.flag + " " + metavar_of(field, spelling);
}

// The help of a field's spelling: the field's help for the main one, the difference for the others.
std::string help_of(const Field& field, const Spelling& spelling) {
  const Spelling& main = field.spellings.front();
  if (&spelling == &main) {
    const std::string text = field.text();
    const bool unset = text == "None" || text == "[]" || text == "0";  // the help says what 0 means
    if (field.is_switch() || unset) return field.help;
    return fmt::format("{} [{}]", field.help,
                       field.is_list() ? fmt::format("{}", fmt::join(field.values(), " ")) : text);
  }
  if (!spelling.help.empty()) return spelling.help;
  const bool opposite = field.is_switch() && spelling.constant != main.constant;
  if (field.is_switch()) return fmt::format("{} {}", opposite ? "the opposite of" : "same as", main.flag);
  return spelling.constant ? fmt::format("same as {} {}", main.flag, *spelling.constant)
                           : fmt::format("same as {}", main.flag);
}

void write_entry(std::string& out, const std::string& flag, const std::string& help) {
  std::string line = "  " + flag;
  if (line.size() + 2 > kIndent) {
    out += line + "\n";
    line.clear();
  }
  line.resize(kIndent - 1, ' ');
  std::istringstream words(help);
  for (std::string word; words >> word;) {
    if (line.size() + 1 + word.size() > kWidth && line.find_first_not_of(' ') != std::string::npos) {
      out += line + "\n";
      line.assign(kIndent - 1, ' ');
    }
    line += " " + word;
  }
  out += line + "\n";
}

// Escapes characters that have a meaning in Markdown.
std::string escaped(const std::string& text) {
  std::string result;
  for (const char c : text) {
    if (c == '*' || c == '<') result += '\\';
    result += c;
  }
  return result;
}

}  // namespace

std::string help_text(const FieldList& fields) {
  std::string out, group;
  for (const Field& field : fields.all()) {
    if (field.group != group) out += fmt::format("{}{}:\n", out.empty() ? "" : "\n", group = field.group);
    for (const Spelling& spelling : field.spellings)
      write_entry(out, written(field, spelling), help_of(field, spelling));
  }
  return out;
}

std::string help_markdown(const FieldList& fields) {
  std::string out, group;
  for (const Field& field : fields.all()) {
    if (field.group != group) out += fmt::format("{}## {}\n\n", out.empty() ? "" : "\n", group = field.group);
    for (const Spelling& spelling : field.spellings)
      out += fmt::format("- `{}`: {}\n", written(field, spelling), escaped(help_of(field, spelling)));
  }
  return out;
}

std::string arguments_text(const FieldList& fields) {
  std::vector<std::string> lines;
  for (const Field& field : fields.all()) {
    const std::string key = field.key();
    lines.push_back(
        fmt::format("  {} {} {}", key, std::string(48 - std::min<size_t>(47, key.size()), '.'), field.text()));
  }
  std::sort(lines.begin(), lines.end());
  return fmt::format(
      "------------------------ arguments ------------------------\n{}\n"
      "-------------------- end of arguments ---------------------",
      fmt::join(lines, "\n"));
}

}  // namespace megalith::config
