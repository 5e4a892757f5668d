// The halves of many numbers (base/split_float.h).
#pragma once
#include <span>

#include "base/dtype.h"

namespace megalith {

void bf16_halves_of(std::span<const float> values, bf16* out);
void low_halves_of(std::span<const float> values, u16* out);

}  // namespace megalith
