#include "observe/fp8_scales.h"

#include <algorithm>

#include "base/check.h"
#include "ops/delayed_scale.h"
#include "plan/interpreter.h"

namespace megalith {

Fp8Scales::Fp8Scales(const PlannedStep& step, Interpreter& interpreter, const QuantizeConfig& config) {
  const auto algorithm = config.amax_algorithm == QuantizeConfig::AmaxAlgorithm::max
                             ? quant::AmaxAlgorithm::max
                             : quant::AmaxAlgorithm::most_recent;
  const bool wide = config.format == QuantizeConfig::Format::hybrid;
  for (const ScaleStates& states : step.scales)
    for (const std::string& name : states.names) {
      std::vector<float> state(size_t(states.type.elements()));
      interpreter.read(step.plan.leaf(name), state.data());
      for (i64 t = 0; t < kTensorsOfLayer; ++t) {
        const quant::Fp8 format = wide && t == 2 ? quant::Fp8::e5m2 : quant::Fp8::e4m3;
        Tensor tensor{{format, algorithm, int(config.margin)}, state[size_t(t)], {}};
        for (size_t i = size_t(kTensorsOfLayer + t); i < state.size(); i += kTensorsOfLayer)
          tensor.history.push_back(state[i]);
        tensors_.push_back(std::move(tensor));
      }
    }
  check(!tensors_.empty(), "this plan keeps no scales of fp8");
}

// A tensor whose amax is 0 was not cast. One without a scale was cast by its own amax.
Fp8Health Fp8Scales::take(std::span<const double> amax) {
  check(amax.size() == tensors_.size(), "amax of {} tensors, {} are wanted", amax.size(), tensors_.size());
  Fp8Health out;
  for (size_t i = 0; i < amax.size(); ++i) {
    Tensor& t = tensors_[i];
    const float latest = float(amax[i]);
    if (latest != 0 && t.scale > 0) {
      const bool wide = t.rule.format == quant::Fp8::e5m2;
      const double scale = t.scale, top = quant::largest_of(t.rule.format), least = wide ? 0x1p-16 : 0x1p-9;
      float window = latest;
      if (t.rule.algorithm == quant::AmaxAlgorithm::max)
        window = std::max(window, *std::max_element(t.history.begin(), t.history.end()));
      if (out.threshold == 0 || window * out.threshold > out.amax * top / scale)
        out.amax = window, out.threshold = top / scale;
      out.scale_min = out.scale_min == 0 ? scale : std::min(out.scale_min, scale);
      out.scale_max = std::max(out.scale_max, scale);
      out.saturated += latest * scale > top, out.underflow += latest * scale <= least / 2;
    }
    quant::update_delayed(t.rule, std::span(&latest, 1), {t.history, i64(t.history.size()), 1}, std::span(&t.scale, 1));
  }
  return out;
}

std::vector<float> Fp8Scales::state(size_t layer) const {
  const auto at = [&](i64 t) -> const Tensor& { return tensors_[layer * kTensorsOfLayer + size_t(t)]; };
  std::vector<float> state;
  for (i64 t = 0; t < kTensorsOfLayer; ++t) state.push_back(at(t).scale);
  for (size_t s = 0; s < at(0).history.size(); ++s)
    for (i64 t = 0; t < kTensorsOfLayer; ++t) state.push_back(at(t).history[s]);
  return state;
}

}  // namespace megalith
