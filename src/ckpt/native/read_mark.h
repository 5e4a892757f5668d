// A mark on a checkpoint that somebody reads, so that the job which saves there does not delete it meanwhile: a shared
// flock of its manifest, or of what a format has instead. It needs no right to write, blocks nobody, and is gone when
// the reader is. Where the file system knows no such locks there is no mark.
#pragma once
#include <string>

namespace megalith {

class ReadMark {
 public:
  ReadMark() = default;
  explicit ReadMark(const std::string& checkpoint);  // SAVE/iter_NNNNNNN of any format
  ReadMark(ReadMark&& other) noexcept;
  ReadMark& operator=(ReadMark&& other) noexcept;
  ~ReadMark();

 private:
  int fd_ = -1;
};

bool is_being_read(const std::string& checkpoint);

}  // namespace megalith
