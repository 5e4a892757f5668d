// Megatron-LM's saved arguments (an argparse.Namespace) and schedule as our settings.
#pragma once
#include <optional>
#include <string>

#include "ckpt/native/checkpoint.h"
#include "ckpt/torch/megatron_mapping.h"
#include "ckpt/torch/pickle.h"
#include "models/config.h"

namespace megalith {

// The model of the arguments, resolved; tensors decide what they leave open (biases, tied output). `rows`: of the
// embedding: the vocabulary's size if the arguments lack it, unless `vocab_size` (0: unknown) has it. `has`: by names
// without layers' numbers, as "decoder.layers.mlp.linear_fc1.bias". Error, naming it, for a setting that our models
// lack.
ModelConfig model_of_args(const PickleValue& args, const HasTensor& has, i64 rows, i64 vocab_size);

// Error if `common`, at `where`, has an unsupported version. Without a version it has the version `usual`.
void check_version(const PickleValue& common, const std::string& where, double usual);

// Of a chain of optimizers, a list or a dict by number, the first; all have taken as many steps. Another one itself.
const PickleValue& first_optimizer(const PickleValue& optimizer);

// Adam's step count in Megatron's optimizer settings: of all, or of the first parameter group that has one. Error if
// there is none.
std::optional<i64> optimizer_steps(const PickleValue* optimizer);

// Iteration, samples, model and schedule of a checkpoint's common state, in the form of a native manifest. `steps`:
// Adam's; none: equal to the iterations.
Manifest manifest_of_common(const PickleValue& common, const ModelConfig& model, std::optional<i64> steps);

}  // namespace megalith
