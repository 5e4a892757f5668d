#include "base/check_no_pipe.h"

#include <filesystem>

#include "base/check.h"

namespace megalith {

namespace fs = std::filesystem;

void check_no_pipe(const std::string& what, const std::string& path) {
  std::error_code unknown;
  const fs::file_status there = fs::status(path, unknown);
  const bool is_pipe =
      fs::is_fifo(there) || fs::is_socket(there) || fs::is_character_file(there) || fs::is_block_file(there);
  check(!is_pipe, "{}: it is not a regular file: give one", what);
}

}  // namespace megalith
