// An Error of several lines: all that is wrong with one input, such as a command line.
#pragma once
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "base/check.h"

namespace megalith {

struct Mistakes : Error {
  // `lines`: one for each mistake, at least one. `after`: printed below them, what to do about all; may be empty.
  explicit Mistakes(std::vector<std::string> lines, std::vector<std::string> after = {});

  std::vector<std::string> lines, after;
};

// Gathers what independent checks find, so that all is told at once.
class MistakeList {
 public:
  explicit MistakeList(std::vector<std::string> lines = {}) : lines_(std::move(lines)) {}

  template <class... A>
  void hold(bool ok, fmt::format_string<A...> text, A&&... args) {
    if (!ok) lines_.push_back(fmt::format(text, std::forward<A>(args)...));
  }
  void run(const std::function<void()>& f);  // adds the mistakes that it throws
  bool any() const { return !lines_.empty(); }
  void done() const;  // throws Mistakes if there are any

 private:
  std::vector<std::string> lines_;
};

// The error as a user reads it: one line, or for Mistakes their number and then a line for each.
std::string told(const std::exception& error);

}  // namespace megalith
