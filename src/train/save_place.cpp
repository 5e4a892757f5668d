#include "train/save_place.h"

#include <filesystem>

#include "base/check.h"
#include "train/copies.h"

namespace megalith {

static std::unique_ptr<SaveLock> take(const std::string& flag, const std::string& dir, bool locks) {
  std::error_code error;
  std::filesystem::create_directories(dir, error);
  check(!error && std::filesystem::is_directory(dir), "{} {}: cannot make this directory{}{}: choose another", flag,
        dir, error ? ": " : "", error ? error.message() : "");
  return locks ? std::make_unique<SaveLock>(dir, SaveLock::Beat(), flag) : nullptr;
}

SaveLocks take_save_places(const TrainConfig& t, int rank) {
  SaveLocks locks;
  const auto add = [&](const std::string& flag, const std::string& dir, bool locks_it) {
    if (auto lock = take(flag, dir, locks_it)) locks.push_back(std::move(lock));
  };
  if (t.save.empty()) return locks;
  add("--save", t.save, rank == 0);
  const std::string copies = copy_directory(t, rank);
  if (t.non_persistent_ckpt_type == CopyType::local) add("--non-persistent-local-ckpt-dir", copies, true);
  if (t.non_persistent_ckpt_type == CopyType::global) add("--non-persistent-global-ckpt-dir", copies, rank == 0);
  return locks;
}

}  // namespace megalith
