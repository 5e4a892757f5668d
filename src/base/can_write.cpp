#include "base/can_write.h"

#include <unistd.h>

#include <filesystem>

namespace megalith {

bool can_write(const std::string& path) {
  namespace fs = std::filesystem;
  std::error_code error;
  if (fs::exists(path, error)) return !fs::is_directory(path, error) && access(path.c_str(), W_OK) == 0;
  const fs::path folder = fs::path(path).parent_path();
  return access(folder.empty() ? "." : folder.c_str(), W_OK | X_OK) == 0;
}

}  // namespace megalith
