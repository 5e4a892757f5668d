// Where a checkpoint is, and of which format: found once, before it is opened, looked into or written beside.
#pragma once
#include <optional>
#include <string>
#include <string_view>

#include "base/dtype.h"

namespace megalith {

enum class CkptFormat { native, torch_dist, torch, hf };

std::string_view name_of(CkptFormat format);  // "native", "torch_dist", "torch", "hf"
// Error, which lists those that are read, or those that are written.
CkptFormat parse_ckpt_format(std::string_view name, std::string_view flag, bool to_write = false);

struct CheckpointPlace {
  CkptFormat format = CkptFormat::native;
  std::string asked{};            // a --save directory, one iter_NNNNNNN of it, or a model directory
  std::string path{};             // of the checkpoint itself; in a --save directory of the first that is tried
  std::string tracker_problem{};  // why the tracker file does not name it; "" if it does, or isn't asked
  bool is_one = false;            // `asked` is one checkpoint, not a directory of them
};

// What `dir` itself is one checkpoint of; none if of nothing, as a --save directory.
std::optional<CkptFormat> format_of_one(const std::string& dir);

// What `dir` holds; none if nothing that we read. Error unless it can be of the iteration, where one is asked for.
std::optional<CheckpointPlace> find_checkpoint(const std::string& dir, std::optional<i64> iteration = {});

// The one to open: of the format, or found by what is there; of the iteration, or the latest. Error if there is none,
// or if `dir` is a file.
CheckpointPlace checkpoint_to_open(const std::string& dir, std::optional<CkptFormat> format,
                                   std::optional<i64> iteration);

// Error, which begins with `what`, if `dir` is a checkpoint, lies in one of a directory of checkpoints, or would be
// taken for one there: what is written in it would go when that is replaced or deleted.
void check_no_checkpoint_around(const std::string& what, const std::string& dir);

}  // namespace megalith
