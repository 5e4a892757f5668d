#include "cli/foreign/translation.h"

#include <fmt/core.h>

#include <cerrno>

#include "base/mistakes.h"
#include "submit/job.h"

namespace megalith {

std::string command_line(std::string_view command, const std::vector<std::string>& words) {
  std::string line = fmt::format("{} {}", shell_word(program_invocation_name), command);
  for (const std::string& word : words) line.append(1, ' ').append(shell_word(word));
  return line;
}

void answer(const Translation& t) {
  std::vector<std::string> said = t.wrong, after;
  if (said.empty()) said.push_back(fmt::format("this is {}: it is translated, not run", t.whose));
  for (const std::string& note : t.notes) after.push_back("note: " + note);
  after.push_back(fmt::format("This is {}. Our complete command:", t.whose));
  after.push_back(command_line(t.command, t.words));
  throw Mistakes(said, after);
}

}  // namespace megalith
