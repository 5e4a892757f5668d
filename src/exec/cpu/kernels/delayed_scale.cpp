// Kernels of CollectAmax, CollectCounts and DelayedScale.
#include "exec/cpu/kernel.h"
#include "quant/delayed.h"

namespace megalith::cpu {

// Updates a layer's state with the step's amax values. history: scratch for one tensor's history.
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

Kernel prepare(const CollectCounts& op, const KernelContext& context) {
  std::vector<bool> here;
  for (size_t i = 0; i < op.places.size(); ++i)
    here.push_back(counts_here(context.mesh, context.coord, context.ins[i + 1]));
  return {0, [op, here, n = count(context.in_shape(0))](const Args& a) {
            double* seen = a.out<double>(0);
            if (a.first_micro_batch) std::fill_n(seen, n, 0.0);
            for (size_t i = 0; i < op.places.size(); ++i) {
              if (!here[i]) continue;
              const i64* counts = a.in<i64>(int(i) + 1);
              double* at = seen + op.places[i] * kCastCounts;
              at[0] += double(counts[0]), at[1] += double(counts[1]), at[2] += double(op.elements[i]);
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
