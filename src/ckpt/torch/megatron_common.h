// Megatron-LM's data besides the tensors (common.pt), from our manifest: arguments, schedule, the optimizer's
// settings. Plain values only, because Megatron loads it with weights_only.
#pragma once
#include <string>
#include <vector>

#include "ckpt/native/checkpoint.h"
#include "models/config.h"

namespace megalith {

struct MegatronState {
  const Manifest& manifest;
  const ModelConfig& model;
  i64 rows = 0;  // of the embedding, padding included
  bool has_optimizer = false;
  DType params = DType::f32;  // type of the weights
};

// The pickle. Our own settings and state go along as text under "megalith", so that reading it back loses nothing.
std::string pickle_common(const MegatronState& state);

// The bytes of the tensor in it, if there is one: fp16's loss scale.
std::string common_storage(const MegatronState& state);

// The model's features that Megatron-LM's arguments cannot express, for a message; "" if none. Megatron would load
// the weights and compute something else.
std::string unknown_to_megatron(const ModelConfig& model);

// The objects that transformer-engine layers require when they load, one for each module.
std::vector<std::string> extra_state_names(const ModelConfig& model);

}  // namespace megalith
