#include "base/mistakes.h"

#include <fmt/ranges.h>

#include "base/escape.h"
#include "base/one_line.h"

namespace megalith {

// All in one line, for those who know Errors only.
static std::string joined(const std::vector<std::string>& lines) {
  if (lines.size() == 1) return lines[0];
  return fmt::format("{} things stop this: {}", lines.size(), fmt::join(lines, "; "));
}

Mistakes::Mistakes(std::vector<std::string> all, std::vector<std::string> then)
    : Error(joined(all)), lines(std::move(all)), after(std::move(then)) {}

void MistakeList::run(const std::function<void()>& f) {
  try {
    f();
  } catch (const Mistakes& all) {
    lines_.insert(lines_.end(), all.lines.begin(), all.lines.end());
  } catch (const Error& e) {
    lines_.emplace_back(e.what());
  }
}

void MistakeList::done() const {
  if (any()) throw Mistakes(lines_);
}

std::string told(const std::exception& error) {
  const auto* mistakes = dynamic_cast<const Mistakes*>(&error);
  if (!mistakes || (mistakes->lines.size() == 1 && mistakes->after.empty())) return one_line(error);
  const size_t n = mistakes->lines.size();
  std::string text = n == 1 ? escape_controls(mistakes->lines[0]) : fmt::format("{} things stop this:", n);
  if (n > 1)
    for (const std::string& line : mistakes->lines) text.append("\n  ").append(escape_controls(line));
  for (const std::string& line : mistakes->after) text.append("\n").append(escape_controls(line));
  return text;
}

}  // namespace megalith
