// A loss scale in a checkpoint's training state, under Megatron's names.
#pragma once
#include <nlohmann/json_fwd.hpp>

#include "step/trainer.h"

namespace megalith {

nlohmann::json to_json(const quant::LossScale& scale);
// Error if a number is missing or is outside of its range.
quant::LossScale read_loss_scale(const nlohmann::json& j);

}  // namespace megalith
