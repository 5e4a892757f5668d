// ALiBi's bias by its definition.
#pragma once
#include "ops/attention.h"

namespace megalith::kernel_tests {

// Of a key for a query at these positions. slope: of alibi_slopes(heads). Falcon's: transformers has bf16 numbers of
// slopes and positions, and of their products.
inline double alibi_bias(const AttentionSpec& at, double slope, i64 key, i64 query) {
  if (!at.alibi_scaled) return slope * double(key - query);
  const auto rounded = [](double x) { return double(float(bf16(float(x)))); };
  const auto product = [&](i64 position) { return rounded(rounded(slope) * rounded(double(position))); };
  return at.scale * (product(key) - product(query));
}

}  // namespace megalith::kernel_tests
