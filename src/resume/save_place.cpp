#include "resume/save_place.h"

#include <filesystem>

#include "base/canonical_path.h"
#include "base/check.h"
#include "base/one_line.h"
#include "ckpt/any_checkpoint.h"
#include "ckpt/native/checkpoint_layout.h"
#include "ckpt/tensors/files.h"
#include "resume/copies.h"

namespace megalith {

namespace fs = std::filesystem;

static std::unique_ptr<SaveLock> take(const std::string& flag, const std::string& dir, bool locks) {
  check_no_checkpoint_around(flag + " " + dir, dir);
  check(!parse_iteration_name(fs::path(canonical_path(dir)).filename().string()),
        "{} {}: this is how checkpoints are named, and it would be taken for one: choose another", flag, dir);
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
  if (t.non_persistent_ckpt_type == CopyType::none) return places;
  const bool own = t.non_persistent_ckpt_type == CopyType::local;
  const char* flag = own ? "--non-persistent-local-ckpt-dir" : "--non-persistent-global-ckpt-dir";
  const std::string copies = copy_directory(t, rank);
  places.copies = take(flag, copies, own || rank == 0);
  if (places.copies) check_our_copies(flag, copies, t);
  return places;
}

void SavePlaces::check_not_taken_over() const {
  for (const SaveLock* place : {save.get(), copies.get()})
    if (place) place->check_not_taken_over();
}

std::function<void()> still_ours(const SaveLock* place) {
  return [place] {
    if (place) place->check_held();
  };
}

}  // namespace megalith
