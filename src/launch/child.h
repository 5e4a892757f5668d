// A rank as a process: started with pipes, never left behind. It is the head of a process group, and the system kills
// it when its agent ends.
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
  std::vector<int> lent{};  // descriptors that it gets, by the same numbers
  bool pipes_out = false;   // else stdout is the agent's
};

struct Child {
  pid_t pid = -1;
  Socket out, err;  // to read; -1: nothing
  Socket line;      // messages of comm/launch_line.h
};

Child start_child(const ChildCommand& command);

// How it has ended, as waitpid tells it, where its first thread has and the others are still taken down. Nothing where
// it runs, where the system does not say, and where it ended well: then there is no haste.
std::optional<int> end_of(const Child& child);

void tell_child(const Child& child, int signal);  // the rank
void kill_all_of(const Child& child);             // and whatever it has started

}  // namespace megalith::launch
