#include "cli/commands.h"

#include <algorithm>
#include <sstream>

#include "base/check.h"
#include "base/log_sink.h"

namespace megalith {
namespace {

// The flags come from the text of --help, which commands print from their own lists (config/show.h).
std::string help_of(const CommandEntry& entry) {
  std::string text;
  const log::Sink sink = [&](log::SinkLevel level, std::string_view line) {
    if (level == log::SinkLevel::output) text += std::string(line) + "\n";
  };
  const log::SinkScope scope(sink);
  const std::string name(entry.name);
  std::vector<const char*> words = {name.c_str(), "--help"};
  if (name == "retro") words.insert(words.begin() + 1, "build");
  try {
    entry.run(int(words.size()), words.data());
  } catch (const Error&) {  // a command without flags
  }
  return text;
}

void add_words(std::string& to, const std::string& more) { to += (to.empty() || more.empty() ? "" : " ") + more; }

std::string trimmed(const std::string& text) {
  const size_t first = text.find_first_not_of(' ');
  return first == std::string::npos ? "" : text.substr(first, text.find_last_not_of(' ') + 1 - first);
}

}  // namespace

std::vector<std::string> HelpFlag::choices() const {
  std::vector<std::string> out;
  if (!value.starts_with('{') || !value.ends_with('}')) return out;
  std::istringstream in(value.substr(1, value.size() - 2));
  for (std::string choice; std::getline(in, choice, ',');) out.push_back(choice);
  return out;
}

std::vector<HelpFlag> flags_of(const CommandEntry& entry) {
  std::vector<HelpFlag> out;
  std::string group;
  std::istringstream lines(help_of(entry));
  for (std::string line; std::getline(lines, line);) {
    const bool is_title = !line.empty() && line[0] != ' ' && line.ends_with(':');
    if (is_title) group = line.substr(0, line.size() - 1);
    if (group.empty() || !line.starts_with("  ")) continue;
    if (!line.starts_with("  -")) {
      if (!out.empty()) add_words(out.back().help, trimmed(line));
      continue;
    }
    const size_t gap = line.find("  ", 2), end = std::min(gap, line.size());
    const std::string written = line.substr(2, end - 2);
    const size_t space = written.find(' ');
    out.push_back({group, written.substr(0, space), space == std::string::npos ? "" : written.substr(space + 1), ""});
    if (gap != std::string::npos) out.back().help = trimmed(line.substr(gap));
  }
  return out;
}

}  // namespace megalith
