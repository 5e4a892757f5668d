// The formats of checkpoints: how one of each is opened and looked into, a file a format in its folder.
#pragma once
#include "ckpt/any_checkpoint.h"
#include "ckpt/inspect.h"

namespace megalith {

struct FormatWays {
  AnyCheckpoint (*open)(const CheckpointPlace&, const AnyOpenOptions&);
  // Adds all tensors of the files, by their own names, and verifies every checksum.
  void (*look)(const CheckpointPlace&, const AnyOpenOptions&, RawCheckpoint&);
};

extern const FormatWays kNativeWays, kTorchDistWays, kTorchWays, kHfWays;

inline const FormatWays& ways_of(CkptFormat format) {
  switch (format) {
    case CkptFormat::native:
      return kNativeWays;
    case CkptFormat::torch_dist:
      return kTorchDistWays;
    case CkptFormat::torch:
      return kTorchWays;
    case CkptFormat::hf:
      return kHfWays;
  }
  fail("no format {}", int(format));
}

// The training state of a checkpoint that names its model's origin; and the model, unless it is foreign.
std::string state_of_hf(const std::string& hf_config, bool foreign);
void read_origin(const std::string& state_json, AnyCheckpoint& c);

// The number of boxes in which each tensor is stored.
void read_parts(const TensorStore& store, RawCheckpoint& raw);

}  // namespace megalith
