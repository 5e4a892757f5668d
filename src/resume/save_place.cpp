#include "resume/save_place.h"

#include <filesystem>

#include "base/canonical_path.h"
#include "base/check.h"
#include "base/one_line.h"
#include "ckpt/any_checkpoint.h"
#include "ckpt/native/checkpoint_layout.h"
#include "ckpt/tensors/files.h"
#include "resume/non_persistent.h"

namespace megalith {

namespace fs = std::filesystem;

static std::unique_ptr<SaveLock> take(const std::string& flag, const std::string& dir, bool locks) {
  check_no_checkpoint_around(flag + " " + dir, dir);
  check(!parse_iteration_name(fs::path(canonical_path(dir)).filename().string()),
        "{} {}: this is a name of checkpoints: choose another", flag, dir);
  try {
    make_directories(dir, {});
  } catch (const std::exception& e) {
    fail("{} {}: cannot make this directory: {}: choose another", flag, dir, one_line(e));
  }
  return locks ? std::make_unique<SaveLock>(dir, SaveLock::Beat(), flag) : nullptr;
}

SavePlaces take_save_places(const TrainConfig& t, int rank) {
  SavePlaces places;
  if (t.save.empty()) return places;
  places.save = take("--save", t.save, rank == 0);
  if (t.non_persistent_ckpt_type == NonPersistentType::none) return places;
  const bool own = t.non_persistent_ckpt_type == NonPersistentType::local;
  const char* flag = own ? "--non-persistent-local-ckpt-dir" : "--non-persistent-global-ckpt-dir";
  const std::string non_persistent = non_persistent_directory(t, rank);
  places.non_persistent = take(flag, non_persistent, own || rank == 0);
  if (places.non_persistent) check_our_non_persistent(flag, non_persistent, t);
  return places;
}

void SavePlaces::check_not_taken_over() const {
  for (const SaveLock* place : {save.get(), non_persistent.get()})
    if (place) place->check_not_taken_over();
}

std::function<void()> still_ours(const SaveLock* place) {
  return [place] {
    if (place) place->check_held();
  };
}

}  // namespace megalith
