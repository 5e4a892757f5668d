// Stacks of all threads of a rank that hangs, for the log.
#pragma once
#include <sys/types.h>

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/dtype.h"
#include "launch/symbol_names.h"

namespace megalith::launch {

class ThreadStacks {
 public:
  void ask(pid_t process);           // all its threads, if the process answers (comm/stack_signal.h)
  void take(std::string_view text);  // an answer, after the word "stack "
  bool has_all() const;              // no answer is missing, except from threads that cannot answer
  void read_rest();                  // what the system knows about threads without an answer; before the process ends
  // Threads with the same stack share lines.
  std::vector<std::string> lines(SymbolNames& names) const;

 private:
  struct Thread {
    std::string name;
    bool is_asked = false;
    std::vector<u64> frames{};
    std::string rest{};
  };
  std::string file_of(pid_t thread, const char* name) const;

  pid_t process_ = 0;
  MappedFiles files_;
  std::map<pid_t, Thread> threads_;
};

}  // namespace megalith::launch
