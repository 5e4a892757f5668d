// One opener a format; open_any_checkpoint chooses among them.
#pragma once
#include <functional>

#include "ckpt/any_checkpoint.h"
#include "ckpt/safetensors.h"
#include "ckpt/torch/torch_dist.h"
#include "ckpt/torch/torch_legacy.h"

namespace megalith {

AnyCheckpoint open_native(const std::string& dir, const AnyOpenOptions& options);
AnyCheckpoint open_hf(const std::string& dir);
AnyCheckpoint open_torch_dist(const std::string& dir, const AnyOpenOptions& options);
AnyCheckpoint open_torch_legacy(const std::string& dir, const AnyOpenOptions& options);

// The tensors of a model directory that are wanted, under the names that are in its files. Error if one is of a type
// that we don't read.
std::shared_ptr<const TensorReader> read_hf_files(const TensorFiles& files,
                                                  const std::function<bool(const TensorInfo&)>& wanted);
// Of a native checkpoint, as they are.
std::shared_ptr<const TensorReader> read_native_files(Checkpoint checkpoint);

}  // namespace megalith
