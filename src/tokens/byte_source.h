// The bytes of an input file, decompressed if its name ends in .gz or .zst. The memory does not depend on the file's
// size.
#pragma once
#include <memory>
#include <string>
#include <string_view>

#include "base/dtype.h"

namespace megalith {

class ByteSource {
 public:
  virtual ~ByteSource() = default;

  // Reads up to `most` bytes; fewer only at the end. Error, naming the file, if it is unreadable, damaged or
  // truncated.
  virtual size_t read(char* to, size_t most) = 0;

  virtual i64 file_bytes() const = 0;  // compressed bytes read so far
};

// Error if the file cannot be opened.
std::unique_ptr<ByteSource> open_bytes(const std::string& file);

// The name without .gz or .zst.
std::string_view unpacked_name(std::string_view file);

}  // namespace megalith
