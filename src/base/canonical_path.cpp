#include "base/canonical_path.h"

#include <algorithm>
#include <filesystem>

namespace megalith {

namespace fs = std::filesystem;

std::string canonical_path(const std::string& path) {
  std::error_code error;
  const fs::path found = fs::weakly_canonical(fs::absolute(path, error), error);
  const fs::path place = (error ? fs::path(path) : found).lexically_normal();
  return (place.has_filename() || !place.has_relative_path() ? place : place.parent_path()).string();
}

bool lies_in(const std::string& path, const std::string& dir) {
  const fs::path inner = canonical_path(path), outer = canonical_path(dir);
  return std::ranges::mismatch(outer, inner).in1 == outer.end();
}

}  // namespace megalith
