// The state of delayed scaling in Megatron's torch_dist checkpoints. Transformer Engine's modules keep it as one tensor
// of bytes each, MODULE._extra_state: a pickled dict with scale_fwd [3n], amax_history_fwd [H, 3n], scale_bwd [2n] and
// amax_history_bwd [H, 2n]. A linear module has n = 1: its input, weight and output, and the gradients of output and
// input. Source: TransformerEngineBaseModule.get_extra_state, Transformer Engine 2.20.
#pragma once
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "ckpt/torch/megatron_mapping.h"
#include "ckpt/torch/torch_dist.h"

namespace megalith {

// [1 + H, 3] in row-major order: the scales of x, w and dy, 0 if there is none yet, and their histories, oldest first.
// Empty if the module has none: another recipe, or experts in one module. Error, beginning with `where`, if it is
// damaged.
std::vector<float> fp8_state_in(std::span<const std::byte> pickle, const std::string& where);

// The states of all linear layers as tensors LAYER.fp8_state; nullptr if there are none. Each of q, k and v has that of
// their common module.
std::shared_ptr<const TensorReader> read_fp8_states(TorchDist& dist, const ModelConfig& model, MegatronLayers layers);

}  // namespace megalith
