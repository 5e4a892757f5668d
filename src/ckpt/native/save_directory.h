// A --save directory: the iterations that it holds, and its tracker file, which names the one to go on from.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "ckpt/native/checkpoint_layout.h"

namespace megalith {

struct SaveDirectory {
  // In the order in which they are tried: the one that the tracker names (Megatron's "release" too, as iteration 0),
  // those before it, the newest first, and those after it: they are of a branch of the run that was left. Where it
  // names none, the newest first.
  std::vector<FoundCheckpoint> candidates{};
  std::string tracker_problem{};  // "DIR/latest... holds "7", which names no checkpoint that is there"; empty if it
                                  // does, or isn't asked
  std::string lack{};             // why there are no candidates

  const FoundCheckpoint& first() const;  // Error if there are none
};

// Whether it is what Megatron calls "release": weights to begin with, at iteration 0, whatever else is there.
bool is_release(const std::string& path);
// Whether a checkpoint in a --save directory may have this name.
bool is_checkpoint_name(const std::string& name);

struct WhichIteration {
  std::optional<i64> exactly{};        // no other one counts, whatever the tracker says
  std::optional<i64> no_later_than{};  // later ones are as if they were not there
};

SaveDirectory read_save_directory(const std::string& dir, const WhichIteration& which = {});

}  // namespace megalith
