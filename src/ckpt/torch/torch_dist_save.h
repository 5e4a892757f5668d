// Writes torch_dist checkpoints, which PyTorch's distributed checkpoint reads and Megatron-LM loads.
#pragma once
#include <span>
#include <string>
#include <vector>

#include "ckpt/tensor_reader.h"

namespace megalith {

struct TorchDistContent {
  i64 iteration = 0;
  std::string common;                        // the pickle of common.pt
  std::vector<std::string> empty_objects{};  // names of objects that hold one empty tensor each (_extra_state)
};

// Writes SAVE/iter_XXXXXXX with all tensors of `tensors`, one piece of bounded size at a time, and points the tracker
// file at it. Stacked layers ("decoder.layers.REST") become one chunk each. A checkpoint of the same iteration is
// replaced. Error if a step fails; nothing is left behind then, and earlier checkpoints are untouched.
void save_torch_dist(const std::string& dir, const TorchDistContent& content, const TensorReader& tensors);

}  // namespace megalith
