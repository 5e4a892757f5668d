#include "base/open_regular.h"

#include <filesystem>

namespace megalith {

std::ifstream open_regular(const std::string& path) {
  std::error_code none;
  std::ifstream in;
  if (std::filesystem::is_regular_file(path, none))
    in.open(path, std::ios::binary);
  else
    in.setstate(std::ios::failbit);
  return in;
}

}  // namespace megalith
