// A rank as a child process. It is the leader of a process group. The system kills it when its agent ends, so no rank
// is left behind.
#pragma once
#include <sys/types.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "comm/socket.h"

namespace megalith::launch {

struct ChildCommand {
  std::vector<std::string> words;  // a program and its arguments
  std::vector<std::pair<std::string, std::string>> variables;
  std::vector<int> lent{};  // descriptors that the child inherits, with the same numbers
  bool pipes_out = false;   // otherwise stdout is that of the agent
};

struct Child {
  pid_t pid = -1;
  Socket out, err;  // read ends; -1: none
  Socket line;      // messages of comm/launch_line.h
};

Child start_child(const ChildCommand& command);

// The wait status of a failed process whose first thread has exited or released its memory. The system may still be
// ending the process. Empty if the process runs, if it succeeded, or if its status is unknown.
std::optional<int> end_of(const Child& child);

void tell_child(const Child& child, int signal);  // the rank
void kill_all_of(const Child& child);             // also kills all that the child started

}  // namespace megalith::launch
