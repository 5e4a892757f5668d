// Protects a checkpoint that is being read from deletion by the job that saves there: a shared flock on its manifest,
// or on the equivalent file of another format. It needs no write permission, blocks nobody, and ends with the reader.
// File systems without flock have no protection.
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
