#include "base/lfs_pointer.h"

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "base/check.h"

namespace megalith {

void check_no_lfs_pointer(const std::string& path) {
  constexpr std::string_view kBegin = "version https://git-lfs.github.com/spec/";
  std::error_code error;
  if (!std::filesystem::is_regular_file(path, error)) return;  // a pipe would wait for who writes it
  std::string begin(kBegin.size(), '\0');
  std::ifstream(path, std::ios::binary).read(begin.data(), std::streamsize(begin.size()));
  check(begin != kBegin, "{} is a Git LFS pointer, not the file itself: run `git lfs pull` in its directory", path);
}

}  // namespace megalith
