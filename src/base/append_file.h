// A file to which a run appends records: metrics, event files. A record is written completely or not at all: a part
// that a full disk accepted is cut off again. Lost records never stop the run: it warns once and continues. If someone
// removes the file, a new one gets the later records.
#pragma once
#include <filesystem>
#include <string>
#include <string_view>

#include "base/check.h"
#include "base/dtype.h"

namespace megalith {

// A file that cannot be opened, or a folder that cannot be made.
struct UnwritablePlace : Error {
  using Error::Error;
};

class AppendFile {
 public:
  // Opens the file. If it does not exist, the call creates it and its folders, or fails. `what`: its name in messages
  // ("metrics file"). UnwritablePlace if it cannot be opened.
  enum class Missing { create, fail };
  AppendFile(std::filesystem::path path, std::string what, Missing missing = Missing::create);
  ~AppendFile();
  AppendFile(const AppendFile&) = delete;
  AppendFile& operator=(const AppendFile&) = delete;

  bool append(std::string_view record);  // false: lost
  bool is_removed() const;
  // Opens a new file in place of the removed one, warns, and returns true. Before an append() of a file whose first
  // record is special; otherwise append() does it. False: impossible now, so the next records are lost.
  bool replace(const std::filesystem::path& path);
  const std::filesystem::path& path() const { return path_; }

 private:
  void warn_once(const std::string& text);

  std::filesystem::path path_;
  std::string what_;
  int fd_ = -1;
  bool warned_ = false;
};

}  // namespace megalith
