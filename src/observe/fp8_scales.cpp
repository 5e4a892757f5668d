#include "observe/fp8_scales.h"

#include <algorithm>

#include "base/check.h"
#include "base/named_value.h"
#include "observe/cast_values.h"
#include "ops/delayed_scale.h"
#include "plan/interpreter.h"

namespace megalith {

namespace {

constexpr const char* kKinds[kTensorsOfLayer] = {"x", "w", "dy"};

}  // namespace

Fp8Scales::Fp8Scales(const PlannedStep& step, Interpreter& interpreter, const QuantizeConfig& config) {
  const auto algorithm = config.amax_algorithm == QuantizeConfig::AmaxAlgorithm::max
                             ? quant::AmaxAlgorithm::max
                             : quant::AmaxAlgorithm::most_recent;
  const bool wide = config.format == QuantizeConfig::Format::hybrid;
  for (const char* kind : kKinds) kinds_.push_back({.kind = kind});
  for (const ScaleStates& states : step.scales)
    for (const std::string& name : states.names) {
      const i64 layer = layer_of(name);
      const size_t own = size_t(std::ranges::find(kinds_, layer, &Fp8Kind::layer) - kinds_.begin());
      if (own == kinds_.size())
        for (const char* kind : kKinds) kinds_.push_back({.kind = kind, .layer = layer});
      std::vector<float> state(size_t(states.type.elements()));
      interpreter.read(step.plan.leaf(name), state.data());
      for (i64 t = 0; t < kTensorsOfLayer; ++t) {
        const quant::Fp8 format = wide && t == 2 ? quant::Fp8::e5m2 : quant::Fp8::e4m3;
        Tensor tensor{{size_t(t), own + size_t(t)}, {format, algorithm, int(config.margin)}, state[size_t(t)], {}};
        for (size_t i = size_t(kTensorsOfLayer + t); i < state.size(); i += kTensorsOfLayer)
          tensor.history.push_back(state[i]);
        tensors_.push_back(std::move(tensor));
      }
    }
  check(!tensors_.empty(), "this plan keeps no scales of fp8");
}

void Fp8Scales::add(const Tensor& t, double amax, Fp8Health& out) const {
  const double scale = t.scale, top = quant::largest_of(t.rule.format);
  double window = amax;
  if (t.rule.algorithm == quant::AmaxAlgorithm::max)
    window = std::max(window, double(*std::max_element(t.history.begin(), t.history.end())));
  if (out.threshold == 0 || window * out.threshold > out.amax * top / scale)
    out.amax = window, out.threshold = top / scale;
  out.scale_min = out.scale_min == 0 ? scale : std::min(out.scale_min, scale);
  out.scale_max = std::max(out.scale_max, scale);
  for (size_t k = 0; k < (t.kinds[0] == t.kinds[1] ? 1 : 2); ++k) {
    Fp8Kind& kind = out.kinds[t.kinds[k]];
    kind.fullest = std::max(kind.fullest, amax * scale / top);
  }
}

// A tensor with amax 0 was not cast. One without a scale was cast with its own amax.
Fp8Health Fp8Scales::take(std::span<const double> amax) {
  check(amax.size() == tensors_.size(), "amax of {} tensors, {} are wanted", amax.size(), tensors_.size());
  Fp8Health out;
  out.kinds = kinds_;
  for (size_t i = 0; i < amax.size(); ++i) {
    Tensor& t = tensors_[i];
    const float latest = float(amax[i]);
    if (latest != 0 && t.scale > 0) add(t, latest, out);
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

std::vector<NamedValue> fp8_values(const Fp8Health& h) {
  if (h.threshold == 0) return {};
  std::vector<NamedValue> out = {{"fp8_amax_history_max", h.amax},
                                 {"fp8_amax_history_threshold", h.threshold},
                                 {"fp8_scale_min", h.scale_min},
                                 {"fp8_scale_max", h.scale_max}};
  for (const Fp8Kind& k : h.kinds) {
    const std::string of = k.layer < 0 ? k.kind : fmt::format("{}_layer_{}", k.kind, k.layer);
    out.push_back({"fp8_fullest_" + of, k.fullest});
  }
  return out;
}

}  // namespace megalith
