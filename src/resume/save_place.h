// The directory of a run's saves: checked and locked before training rather than after it.
#pragma once
#include <functional>
#include <memory>

#include "ckpt/native/save_lock.h"
#include "settings/options.h"

namespace megalith {

// The directories that one rank locks for its run; nullptr: another rank does, or nothing is saved there.
struct SavePlaces {
  std::unique_ptr<SaveLock> save, non_persistent;

  // Error if another job has taken one of them over.
  void check_not_taken_over() const;
};

// The check before each step of a save there (SaveOptions::still_ours). The object must outlive it.
std::function<void()> still_ours(const SaveLock* place);

// Creates the directories of --save and of non-persistent checkpoints, if needed, and locks them for this run: shared
// ones on the first rank, a rank's own on each. Error if one cannot be created or written, if another job saves there,
// or if non-persistent ones would be among files of others.
SavePlaces take_save_places(const TrainConfig& train, int rank);

}  // namespace megalith
