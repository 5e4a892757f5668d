// Names of functions by their addresses in another process, from the symbol tables of its ELF files.
#pragma once
#include <map>
#include <string>
#include <vector>

#include "base/dtype.h"

namespace megalith::launch {

class ElfSymbols {
 public:
  explicit ElfSymbols(const std::string& path);  // an unreadable or damaged file has no symbols

  // The function at an offset of the file; "" if it has no name.
  std::string at(u64 offset) const;

 private:
  struct Segment {
    u64 offset, size, address;
  };
  struct Function {
    std::string name;
    u64 size;
  };
  void read_functions(const std::string& table, const std::string& names);

  std::vector<Segment> segments_;
  std::map<u64, Function> functions_;  // by address
};

// The mapped files of a process.
class MappedFiles {
 public:
  MappedFiles() = default;
  explicit MappedFiles(const std::string& maps);  // the text of /proc/PID/maps; lines of another form do not count

  struct Range {
    u64 begin = 0, end = 0, offset = 0;  // addresses, and the offset of `begin` in the file
    std::string path{};
  };
  const Range* of(u64 address) const;  // null: no file is there

 private:
  std::vector<Range> ranges_;  // by address
};

class SymbolNames {
 public:
  std::string of(u64 address, const MappedFiles& files);  // "name", "name in library.so", or "0x1234 in library.so"

 private:
  std::map<std::string, ElfSymbols> symbols_;  // by path
};

}  // namespace megalith::launch
