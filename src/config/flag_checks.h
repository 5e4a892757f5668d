// The checks of a command's flags. All that is wrong with a command line is told at once.
#pragma once
#include <initializer_list>
#include <set>
#include <string>
#include <utility>

#include "base/mistakes.h"
#include "config/parse.h"

namespace megalith {

class FlagChecks : public MistakeList {
 public:
  explicit FlagChecks(const config::Wrong& parsed) : MistakeList(parsed.lines()), unread_(parsed.unread) {}

  // One line for all flags that are missing, except those that were misspelt or had an unreadable value. A text after
  // a flag's name says which values it takes.
  void given(std::initializer_list<std::pair<const char*, bool>> flags);

 private:
  std::set<std::string, std::less<>> unread_;
};

}  // namespace megalith
