// Identifies the owner of a non-persistent checkpoint. Its manifest says who saved it: one that does not name this run
// is neither loaded nor deleted.
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

// An intact checkpoint that is not this run's non-persistent one: another run's, or a persistent one.
struct NotOurNonPersistent : Error {
  using Error::Error;
};

// Writes into a copy who saves it; `save`: the run's --save.
void mark_non_persistent(Manifest& copy, const NonPersistentMark& mark, const std::string& save);
// The mark of the checkpoint at `path`. NotOurNonPersistent if it is not this run's.
NonPersistentMark mark_of(const Manifest& copy, const std::string& path, const TrainConfig& train);

// false for a damaged one.
bool is_our_non_persistent(const std::string& path, const TrainConfig& train);

// Only the latest non-persistent one is kept. Error if `dir`, which `flag` names, has something else.
void check_our_non_persistent(const std::string& flag, const std::string& dir, const TrainConfig& train);

}  // namespace megalith
