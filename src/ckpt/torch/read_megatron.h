// What both formats of Megatron's checkpoints say of model and run, and their tensors under our names.
#pragma once
#include <functional>
#include <memory>
#include <optional>

#include "ckpt/any_checkpoint.h"
#include "ckpt/torch/megatron_mapping.h"
#include "ckpt/torch/pickle.h"

namespace megalith {

// The files' tensors with the optimizer's state as tensors of its parameters. Error if that can't be made of it.
using FindState = std::function<std::shared_ptr<const TensorReader>(const ModelConfig&, MegatronLayers)>;

// The model and run, and the logical tensors, of Megatron's files. `steps`: of Adam, if they say.
void read_megatron(const std::shared_ptr<const TensorReader>& files, const PickleValue& common,
                   const FindState& find_state, std::optional<i64> steps, i64 vocab_size, AnyCheckpoint& c);

}  // namespace megalith
