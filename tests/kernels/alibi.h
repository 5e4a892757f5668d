// ALiBi's bias by its definition.
#pragma once
#include "ops/attention.h"

namespace megalith::kernel_tests {

// The bias of a key for a query at these positions. slope: from alibi_slopes(heads). For Falcon transformers rounds
// slopes, positions and their products to bf16.
inline double alibi_bias(const AttentionSpec& at, double slope, i64 key, i64 query) {
  if (!at.alibi_scaled) return slope * double(key - query);
  const auto rounded = [](double x) { return double(float(bf16(float(x)))); };
  const auto product = [&](i64 position) { return rounded(rounded(slope) * rounded(double(position))); };
  return at.scale * (product(key) - product(query));
}

}  // namespace megalith::kernel_tests
