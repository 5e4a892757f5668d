// The common content of both formats of Megatron's checkpoints: model, run, and tensors with our names.
#pragma once
#include <functional>
#include <memory>
#include <optional>

#include "ckpt/any_checkpoint.h"
#include "ckpt/torch/megatron_mapping.h"
#include "ckpt/torch/pickle.h"

namespace megalith {

// The files' tensors with the optimizer state as tensors of its parameters. Error if that is impossible.
using FindState = std::function<std::shared_ptr<const TensorReader>(const ModelConfig&, MegatronLayers)>;

// The model and run, and the logical tensors, of Megatron's files. `steps`: of Adam, if they say.
void read_megatron(const std::shared_ptr<const TensorReader>& files, const PickleValue& common,
                   const FindState& find_state, std::optional<i64> steps, i64 vocab_size, AnyCheckpoint& c);

}  // namespace megalith
