// A file whose parts are read where they are wanted, by any thread, into memory of the caller's. Unlike a mapped one it
// adds nothing to the process's memory: how much a touched page brings in is the kernel's choice. And an I/O error is
// an Error here, where it would end the process.
#pragma once
#include <span>
#include <string>

#include "base/dtype.h"

namespace megalith {

class ReadFile {
 public:
  explicit ReadFile(std::string path);  // Error if it cannot be opened or is not a regular file
  ~ReadFile();
  ReadFile(const ReadFile&) = delete;
  ReadFile& operator=(const ReadFile&) = delete;

  const std::string& path() const { return path_; }
  i64 size() const { return size_; }
  void read(i64 offset, std::span<std::byte> out) const;  // Error if they are not all there

 private:
  std::string path_;
  int file_ = -1;
  i64 size_ = 0;
};

}  // namespace megalith
