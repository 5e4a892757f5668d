// Megatron-LM's arguments of mixtures of experts.
#pragma once
#include "ckpt/torch/megatron_arg_values.h"
#include "ckpt/torch/pickle_writer.h"

namespace megalith {

// Error, naming it, for a value that is not known. Without num_experts nothing is read.
void read_mixture(const Args& a, MoeConfig& m);

// Without experts only num_experts, which is None.
void put_mixture(PickleWriter& p, const ModelConfig& m);

// Whether any layer has experts.
bool has_experts(const ModelConfig& m);

}  // namespace megalith
