// A command line of another program, translated to ours.
#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace megalith {

struct Translation {
  std::string whose;               // "Megatron's tools/checkpoint/convert.py"
  std::string command;             // ours
  std::vector<std::string> words;  // after the command
  std::vector<std::string> notes;  // words without effect and why, one line each
  std::vector<std::string> wrong;  // what is missing or not possible, one line each
};

// "build/bin/megalith COMMAND WORD ...", with the program's path as called, for a shell.
std::string command_line(std::string_view command, const std::vector<std::string>& words);

// Throws Mistakes for a command that cannot run unchanged: first the words without effect, then all mistakes, then
// our complete command on its own line.
[[noreturn]] void answer(const Translation& translation);

}  // namespace megalith
