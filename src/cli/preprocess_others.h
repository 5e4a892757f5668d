// Flags of Megatron's tools/preprocess_data.py, of today and before, that belong to none of ours.
#pragma once
#include <span>

#include "config/parse.h"

namespace megalith {

std::span<const config::OtherFlag> preprocess_others();

}  // namespace megalith
