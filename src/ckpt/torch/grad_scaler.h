// fp16's loss scale in Megatron's optimizer settings: `grad_scaler`, a dict of scale, a tensor [1] of f32,
// growth_tracker and hysteresis_tracker. Ours: `loss_scale` of the training state, with the same names.
#pragma once
#include <string>

#include "ckpt/native/checkpoint.h"
#include "ckpt/torch/pickle_writer.h"
#include "ckpt/torch/torch_file.h"

namespace megalith {

// The bytes of the scale, which go into data/0 of the pickle's archive; "" where the state has no loss scale.
std::string grad_scaler_storage(const Manifest& manifest);
// The entry of an optimizer's dict, if the state has a loss scale.
void put_grad_scaler(PickleWriter& p, const Manifest& manifest);

// Adds the loss scale of the optimizer's dict to the training state, unless it has one. `file`: where the dict is, for
// messages.
void take_grad_scaler(const PickleValue* optimizer, const TorchFile& file, Manifest& manifest);

}  // namespace megalith
