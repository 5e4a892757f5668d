// Whose a checkpoint in a directory of copies is. Each copy says in its manifest who saved it: what does not name this
// run is neither loaded nor deleted.
#pragma once
#include <string>

#include "base/check.h"
#include "ckpt/native/checkpoint.h"
#include "settings/options.h"

namespace megalith {

struct NonPersistentMark {
  std::string start;  // of the run that saved it, by a name that no other start has
  int rank = 0;
};

// What is whole, and not this run's copy: another run's, or a checkpoint that is to last.
struct NotOurNonPersistent : Error {
  using Error::Error;
};

// Writes into a copy who saves it; `save`: the run's --save.
void mark_non_persistent(Manifest& copy, const NonPersistentMark& mark, const std::string& save);
// The mark of what lies at `path`. NotOurNonPersistent if it is none of this run.
NonPersistentMark mark_of(const Manifest& copy, const std::string& path, const TrainConfig& train);

// What is damaged is not known to be.
bool is_our_non_persistent(const std::string& path, const TrainConfig& train);

// Of the copies only the latest stays. Error if `dir`, which `flag` names, holds what is not this run's copy.
void check_our_non_persistent(const std::string& flag, const std::string& dir, const TrainConfig& train);

}  // namespace megalith
