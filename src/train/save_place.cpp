#include "train/save_place.h"

#include <filesystem>

#include "base/check.h"

namespace megalith {

std::unique_ptr<SaveLock> take_save_place(const std::string& dir, bool is_first_rank) {
  if (dir.empty()) return nullptr;
  std::error_code error;
  std::filesystem::create_directories(dir, error);
  check(!error && std::filesystem::is_directory(dir), "--save {}: cannot make this directory{}{}: choose another", dir,
        error ? ": " : "", error ? error.message() : "");
  return is_first_rank ? std::make_unique<SaveLock>(dir) : nullptr;
}

}  // namespace megalith
