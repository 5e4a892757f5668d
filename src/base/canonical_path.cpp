#include "base/canonical_path.h"

#include <filesystem>

namespace megalith {

namespace fs = std::filesystem;

std::string canonical_path(const std::string& path) {
  std::error_code error;
  const fs::path found = fs::weakly_canonical(fs::absolute(path, error), error);
  const fs::path place = (error ? fs::path(path) : found).lexically_normal();
  return (place.has_filename() || !place.has_relative_path() ? place : place.parent_path()).string();
}

}  // namespace megalith
