// The directory of a run's saves: checked and locked before training, not after it.
#pragma once
#include <functional>
#include <memory>

#include "ckpt/native/save_lock.h"
#include "settings/options.h"

namespace megalith {

// The directories that this rank locks for its run. nullptr: another rank locks them, or nothing is saved there.
struct SavePlaces {
  std::unique_ptr<SaveLock> save, non_persistent;

  // Error if another job has locked one of them since.
  void check_not_taken_over() const;
};

// The check before each step of a save to that directory (SaveOptions::still_ours). This object must outlive it.
std::function<void()> still_ours(const SaveLock* place);

// Creates the directories of --save and of non-persistent checkpoints, if needed, and locks them for this run. The
// first rank locks shared ones, each rank its own. Error if one is not writable, if another job saves there, or if it
// has files of other runs.
SavePlaces take_save_places(const TrainConfig& train, int rank);

}  // namespace megalith
