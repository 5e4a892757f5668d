// Kernels of CollectAmax and DelayedScale.
#include "exec/cpu/kernel.h"
#include "quant/delayed.h"

namespace megalith::cpu {

// A layer's state by what it saw. history: room for that of one tensor.
static void move_on(const DelayedScale& op, float* state, const float* seen, std::span<float> history) {
  const i64 slots = i64(history.size());
  for (i64 t = 0; t < kTensorsOfLayer; ++t) {
    const bool wide = t == 2 && op.gradients == CodeFormat::e5m2;
    const quant::DelayedRule rule{wide ? quant::Fp8::e5m2 : quant::Fp8::e4m3,
                                  op.largest ? quant::AmaxAlgorithm::max : quant::AmaxAlgorithm::most_recent,
                                  op.margin};
    float* column = state + kTensorsOfLayer + t;
    for (i64 s = 0; s < slots; ++s) history[size_t(s)] = column[s * kTensorsOfLayer];
    quant::update_delayed(rule, std::span(seen + t, 1), {history, slots, 1}, std::span(state + t, 1));
    for (i64 s = 0; s < slots; ++s) column[s * kTensorsOfLayer] = history[size_t(s)];
  }
}

Kernel prepare(const CollectAmax& op, const KernelContext& context) {
  return {0, [places = op.places, n = context.in_shape(0)[0]](const Args& a) {
            float* seen = a.out<float>(0);
            if (a.first_micro_batch) std::fill_n(seen, n, 0.0f);
            for (size_t i = 0; i < places.size(); ++i) {
              float& at = seen[places[i]];
              at = std::max(at, *a.in<float>(int(i) + 1));
            }
          }};
}

Kernel prepare(const DelayedScale& op, const KernelContext& context) {
  const i64 slots = context.in_shape(0)[0] - 1;
  return {slots * i64(sizeof(float)), [op, slots](const Args& a) {
            const int layers = int(op.layers);
            if (a.in<double>(layers + 1)[step_scalar::kCounts] == 0) return;
            const std::span history(reinterpret_cast<float*>(a.workspace), size_t(slots));
            for (int i = 0; i < layers; ++i)
              move_on(op, a.out<float>(i), a.in<float>(layers) + i * kTensorsOfLayer, history);
          }};
}

}  // namespace megalith::cpu
