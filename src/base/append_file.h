// A file that a run appends records to: metrics, event files. A record is written whole or not at all: what a full disk
// lets through of a record is cut off again. Losing records never stops the run: it warns once and goes on.
#pragma once
#include <filesystem>
#include <string>
#include <string_view>

#include "base/dtype.h"

namespace megalith {

class AppendFile {
 public:
  // Opens or makes the file and the folders above it. `what` names it in messages ("metrics file"). Error if it cannot
  // be opened.
  AppendFile(std::filesystem::path path, std::string what);
  ~AppendFile();
  AppendFile(const AppendFile&) = delete;
  AppendFile& operator=(const AppendFile&) = delete;

  bool append(std::string_view record);  // false: lost
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
  std::string what_;
  int fd_ = -1;
  bool warned_ = false;
};

}  // namespace megalith
