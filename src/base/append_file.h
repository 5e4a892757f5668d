// A file to which a run appends records: metrics, event files. A record is written completely or not at all: a part
// that a full disk accepted is cut off again. Lost records never stop the run: it warns once and continues.
#pragma once
#include <filesystem>
#include <string>
#include <string_view>

#include "base/dtype.h"

namespace megalith {

class AppendFile {
 public:
  // Opens the file. If it does not exist, the call creates it and its folders, or fails. `what`: its name in messages
  // ("metrics file"). Error if it cannot be opened.
  enum class Missing { create, fail };
  AppendFile(std::filesystem::path path, std::string what, Missing missing = Missing::create);
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
