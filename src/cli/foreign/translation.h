// A command line of another program, as one of ours.
#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace megalith {

struct Translation {
  std::string whose;               // "Megatron's tools/checkpoint/convert.py"
  std::string command;             // ours
  std::vector<std::string> words;  // behind it
  std::vector<std::string> notes;  // what has no effect here and why, one line each
  std::vector<std::string> wrong;  // what is missing, or cannot be done as it is asked, one line each
};

// "build/bin/megalith COMMAND WORD ...", which begins as the program was called, to be pasted into a shell.
std::string command_line(std::string_view command, const std::vector<std::string>& words);

// Throws Mistakes, the answer to what cannot run as it stands: all that is wrong, below what has no effect, and in a
// line of its own, the whole command of ours.
[[noreturn]] void answer(const Translation& translation);

}  // namespace megalith
