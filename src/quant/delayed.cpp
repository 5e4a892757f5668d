#include "quant/delayed.h"

#include "quant/cast.h"
#include "quant/scale.h"

namespace megalith::quant {

void update_delayed(const DelayedRule& rule, std::span<const float> amax, Out<float> history, std::span<float> scale) {
  const i64 slots = history.rows;
  want_sizes("the history of amax", history, slots, i64(amax.size()));
  check(slots > 0 && scale.size() == amax.size(), "delayed scaling of {} tensors with {} scales and {} slots",
        amax.size(), scale.size(), slots);
  for (i64 t = 0; t < history.cols; ++t) {
    const float latest = amax[size_t(t)];
    if (latest == 0) continue;
    float window = latest;
    for (i64 s = 1; s < slots; ++s) {
      window = larger(window, history(s, t));
      history(s - 1, t) = history(s, t);
    }
    history(slots - 1, t) = latest;
    history(0, t) = 0;
    float& s = scale[size_t(t)];
    s = delayed_scale(rule.algorithm == AmaxAlgorithm::max ? window : latest, s, largest_of(rule.format), rule.margin);
  }
}

}  // namespace megalith::quant
