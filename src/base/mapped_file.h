// A whole file as read-only memory. Pages are read when touched and can be dropped again, so that files larger than
// memory work.
#pragma once
#include <span>
#include <string>

#include "base/dtype.h"

namespace megalith {

class MappedFile {
 public:
  explicit MappedFile(std::string path);  // Error if it cannot be opened or is not a regular file
  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  const std::string& path() const { return path_; }
  std::span<const u8> bytes() const { return bytes_; }
  i64 size() const { return i64(bytes_.size()); }
  // Takes the pages of these bytes out of the process's memory; they come back when they are touched again.
  void release(i64 offset, i64 bytes) const;

 private:
  std::string path_;
  std::span<const u8> bytes_;
};

}  // namespace megalith
