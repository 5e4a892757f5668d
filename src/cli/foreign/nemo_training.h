// NeMo's settings of training and model shape for which there is no one-to-one flag.
#pragma once
#include "cli/foreign/nemo_flags.h"

namespace megalith {

void take_nemo_training(const NemoValues& values, NemoFlags& flags);  // precision, evaluation, optimizer, schedule
void take_nemo_shape(const NemoValues& values, NemoFlags& flags);     // activation, norm, adapters

bool is_nemo_training_key(std::string_view key);  // of either

}  // namespace megalith
