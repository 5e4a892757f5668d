// One opener a format; open_any_checkpoint chooses among them.
#pragma once

#include "ckpt/any_checkpoint.h"
#include "ckpt/torch/torch_dist.h"
#include "ckpt/torch/torch_legacy.h"

namespace megalith {

AnyCheckpoint open_native(const std::string& dir, const AnyOpenOptions& options);
AnyCheckpoint open_hf(const std::string& dir, const AnyOpenOptions& options);
AnyCheckpoint open_torch_dist(const std::string& dir, const AnyOpenOptions& options);
AnyCheckpoint open_torch_legacy(const std::string& dir, const AnyOpenOptions& options);

// Of a native checkpoint, as they are.
std::shared_ptr<const TensorReader> read_native_files(Checkpoint checkpoint);

}  // namespace megalith
