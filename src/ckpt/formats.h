// The formats of checkpoints: how one of each is opened and looked into, a file a format in its folder.
#pragma once
#include "ckpt/any_checkpoint.h"
#include "ckpt/inspect.h"

namespace megalith {

struct FormatWays {
  AnyCheckpoint (*open)(const CheckpointPlace&, const AnyOpenOptions&);
  // Fills in what the files hold under their own names, with every checksum compared.
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

// The training state of a checkpoint that tells where the model came from; and the model, unless it is foreign.
std::string state_of_hf(const std::string& hf_config, bool foreign);
void read_origin(const std::string& state_json, AnyCheckpoint& c);

// In how many pieces each tensor lies.
void read_parts(const TensorStore& store, RawCheckpoint& raw);

}  // namespace megalith
