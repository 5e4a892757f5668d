// The tensors of a native checkpoint, as they are.
#pragma once
#include <memory>

#include "ckpt/native/checkpoint.h"
#include "ckpt/tensors/tensor_reader.h"

namespace megalith {

std::shared_ptr<const TensorReader> read_native_files(Checkpoint checkpoint);

}  // namespace megalith
