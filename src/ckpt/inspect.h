// Looking into checkpoints: what files hold under their own names, numbers about a tensor, differences of two.
#pragma once
#include "ckpt/any_checkpoint.h"

namespace megalith {

struct RawCheckpoint {
  CkptFormat format = CkptFormat::native;
  std::string path{};
  std::shared_ptr<const TensorReader> tensors{};  // under the files' names
  ReadMark mark{};
  std::vector<i64> parts{};           // number of boxes of each tensor; an unsplit one: 1
  std::vector<i64> held{};            // elements of each that are here: in a rank's own copy only its blocks
  std::vector<std::string> notes{};   // other content
  std::vector<std::string> unread{};  // tensors of types that we don't read: "NAME (complex64)"
  std::string checksums{};            // what was verified: "xxh64 of 3 files"; "": the format has no checksums
};

// The contents of `dir`, with every checksum verified. Unlike open_any_checkpoint it accepts models that we don't know.
// A damaged checkpoint is always an error; an older one is never used instead.
RawCheckpoint open_raw_checkpoint(const std::string& dir, const AnyOpenOptions& options = {});

struct TensorStats {
  i64 elements = 0, nan = 0, infinite = 0, zero = 0;
  double min = 0, max = 0, mean = 0, deviation = 0, norm = 0;  // of the finite ones
};
TensorStats stats_of(const TensorReader& tensors, std::size_t i);  // float types only

struct TensorDifference {
  i64 differing = 0;   // elements whose bits differ, -0 and 0 too; in tensors of two types, whose values do
  double max_abs = 0;  // |a - b|, of floats; infinity where one is not finite
  double max_rel = 0;  // |a - b| / max(|a|, |b|)
};
// Of two tensors of the same shape, and of the same type, or both of floats.
TensorDifference difference(const TensorReader& a, std::size_t i, const TensorReader& b, std::size_t k);

}  // namespace megalith
