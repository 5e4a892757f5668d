// Names of files in the save directory that one part of the program writes and another reads.
#pragma once

namespace megalith {

inline constexpr const char* kRanksFile = "ranks.jsonl";  // observe/sinks/ranks_file.h

}  // namespace megalith
