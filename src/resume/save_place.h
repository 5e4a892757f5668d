// Where a run will save: looked at, and taken, before training rather than after it.
#pragma once
#include <functional>
#include <memory>

#include "ckpt/native/save_lock.h"
#include "settings/options.h"

namespace megalith {

// The directories that one rank holds for its run; nullptr: another rank holds it, or nothing is saved there.
struct SavePlaces {
  std::unique_ptr<SaveLock> save, non_persistent;

  // Error if another job has taken one of them over.
  void check_not_taken_over() const;
};

// What a save into such a place asks (SaveOptions::still_ours). The place must outlive it.
std::function<void()> still_ours(const SaveLock* place);

// Makes the directories of --save and of non-persistent copies, if there will be some, and locks them for this run:
// what ranks save together on the first of them, a rank's own on each. Error if one cannot be made or written, if
// another job saves there, or if copies would lie among what is not this run's.
SavePlaces take_save_places(const TrainConfig& train, int rank);

}  // namespace megalith
