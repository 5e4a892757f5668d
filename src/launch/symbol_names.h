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

// `maps`: the text of /proc/PID/maps.
class SymbolNames {
 public:
  std::string of(u64 address, const std::string& maps);  // "name", "name in library.so", or "0x1234 in library.so"

 private:
  std::map<std::string, ElfSymbols> files_;  // by path
};

}  // namespace megalith::launch
