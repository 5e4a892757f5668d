#include "step/cast_losses.h"

#include "ops/cast_counts.h"
#include "ops/delayed_scale.h"

namespace megalith {

void add_cast_losses(const std::vector<std::string>& layers, std::span<const double> counts,
                     std::vector<CastLoss>& out) {
  constexpr const char* kKinds[kTensorsOfLayer] = {"x", "w", "dy"};
  const size_t tensors = layers.size() * size_t(kTensorsOfLayer);
  check(counts.size() == tensors * size_t(kCastCounts), "{} counts of {} tensors", counts.size(), tensors);
  for (size_t i = 0; i < tensors; ++i) {
    const double* of = &counts[i * size_t(kCastCounts)];
    if (of[2] > 0) out.push_back({layers[i / kTensorsOfLayer], kKinds[i % kTensorsOfLayer], of[0], of[1], of[2]});
  }
}

}  // namespace megalith
