#include "base/split_floats.h"

#include "base/split_float.h"

namespace megalith {

void bf16_halves_of(std::span<const float> values, bf16* out) {
  for (size_t i = 0; i < values.size(); ++i) out[i] = bf16_half_of(values[i]);
}

void low_halves_of(std::span<const float> values, u16* out) {
  for (size_t i = 0; i < values.size(); ++i) out[i] = low_half_of(values[i]);
}

}  // namespace megalith
