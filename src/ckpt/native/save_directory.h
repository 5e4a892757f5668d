// A --save directory: its iterations, and the tracker file that names the one to resume from.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "ckpt/native/checkpoint_layout.h"

namespace megalith {

struct SaveDirectory {
  // In the order of attempts. First the one that the tracker names (Megatron's "release" counts as iteration 0). Then
  // earlier ones, newest first. Then later ones: they belong to an abandoned branch of the run. Without a tracker:
  // newest first.
  std::vector<FoundCheckpoint> candidates{};
  // "DIR/latest... holds "7", which names a checkpoint that does not exist". Empty if it names one, or was not read.
  std::string tracker_problem{};
  std::string lack{};  // why there are no candidates

  const FoundCheckpoint& first() const;  // Error if there are none
};

// Whether it is what Megatron calls "release": initial weights, at iteration 0, even if there are others.
bool is_release(const std::string& path);
// Whether a checkpoint in a --save directory may have this name.
bool is_checkpoint_name(const std::string& name);

struct WhichIteration {
  std::optional<i64> exactly{};        // no other one counts, for any content of the tracker
  std::optional<i64> no_later_than{};  // ignores later checkpoints
};

SaveDirectory read_save_directory(const std::string& dir, const WhichIteration& which = {});

}  // namespace megalith
