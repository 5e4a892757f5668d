// The bytes of an input file, unpacked on the way where its name ends in .gz or .zst. Memory does not grow with the
// file.
#pragma once
#include <memory>
#include <string>
#include <string_view>

#include "base/dtype.h"

namespace megalith {

class ByteSource {
 public:
  virtual ~ByteSource() = default;

  // Up to `most` bytes, fewer only at the end. Error naming the file if it cannot be read, is damaged, or ends before
  // its packed data do.
  virtual size_t read(char* to, size_t most) = 0;

  virtual i64 file_bytes() const = 0;  // read from the file so far, packed
};

// Error if the file cannot be opened.
std::unique_ptr<ByteSource> open_bytes(const std::string& file);

// The name without .gz or .zst.
std::string_view unpacked_name(std::string_view file);

}  // namespace megalith
