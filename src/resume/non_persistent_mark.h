// Identifies the owner of a non-persistent checkpoint. Its manifest names the run that saved it. Checkpoints of other
// runs are neither loaded nor deleted.
#pragma once
#include <string>

#include "base/check.h"
#include "ckpt/native/checkpoint.h"
#include "settings/options.h"

namespace megalith {

struct NonPersistentMark {
  std::string start;  // unique name of the start that saved it
  int rank = 0;
};

// The checkpoint is intact, but is persistent or belongs to another run.
struct NotOurNonPersistent : Error {
  using Error::Error;
};

// Adds the owner to the manifest; `save`: the run's --save.
void mark_non_persistent(Manifest& copy, const NonPersistentMark& mark, const std::string& save);
// The mark of the checkpoint at `path`. NotOurNonPersistent if it belongs to another run.
NonPersistentMark mark_of(const Manifest& copy, const std::string& path, const TrainConfig& train);

// Returns false for a damaged checkpoint.
bool is_our_non_persistent(const std::string& path, const TrainConfig& train);

// Error if `dir`, which `flag` names, has anything else: only the latest non-persistent checkpoint is kept there.
void check_our_non_persistent(const std::string& flag, const std::string& dir, const TrainConfig& train);

}  // namespace megalith
