// Finds a checkpoint and its format, once, before it is opened or inspected, or before anything is written there.
#pragma once
#include <optional>
#include <string>
#include <string_view>

#include "base/dtype.h"

namespace megalith {

enum class CkptFormat { native, torch_dist, torch, hf };

std::string_view name_of(CkptFormat format);  // "native", "torch_dist", "torch", "hf"
// Error, which lists the formats that are read, or that are written.
CkptFormat parse_ckpt_format(std::string_view name, std::string_view flag, bool to_write = false);

struct CheckpointPlace {
  CkptFormat format = CkptFormat::native;
  std::string asked{};            // a --save directory, one iter_NNNNNNN of it, or a model directory
  std::string path{};             // of the checkpoint itself; in a --save directory of the first that is tried
  std::string tracker_problem{};  // why the tracker file does not name it; "" if it does, or isn't asked
  bool is_one = false;            // `asked` is one checkpoint, not a directory of them
};

// The format of `dir` if it is itself a checkpoint; none if not, for example a --save directory.
std::optional<CkptFormat> format_of_one(const std::string& dir);

// The format of the checkpoints in `dir`; none if there are none that we read. If an iteration is requested: Error
// unless the format has iterations.
std::optional<CheckpointPlace> find_checkpoint(const std::string& dir, std::optional<i64> iteration = {});

// The checkpoint to open: of the given or the detected format, of the given or the latest iteration. Error if there is
// none, or if `dir` is a file.
CheckpointPlace checkpoint_to_open(const std::string& dir, std::optional<CkptFormat> format,
                                   std::optional<i64> iteration);

// Error, starting with `what`, if `dir` is a checkpoint or inside one. Also if it has a checkpoint's name in a
// directory of checkpoints. Files written there would be lost when that is replaced or deleted.
void check_no_checkpoint_around(const std::string& what, const std::string& dir);

}  // namespace megalith
