// Flags of Megatron's tools/preprocess_data.py, in all its releases, that have no equivalent here.
#pragma once
#include <span>

#include "config/parse.h"

namespace megalith {

std::span<const config::OtherFlag> preprocess_others();

}  // namespace megalith
