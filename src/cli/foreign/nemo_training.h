// Settings of NeMo about training and the model's shape that are no flags of ours by another name.
#pragma once
#include "cli/foreign/nemo_flags.h"

namespace megalith {

void take_nemo_training(const NemoValues& values, NemoFlags& flags);  // precision, evaluation, optimizer, schedule
void take_nemo_shape(const NemoValues& values, NemoFlags& flags);     // activation, norm, adapters

bool is_nemo_training_key(std::string_view key);  // of either

}  // namespace megalith
