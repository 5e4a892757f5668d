// fp8-check of the loss scale of fp16, step by step.
#include "quant/loss_scale.h"

#include <cmath>

#include "cli/fp8/checks.h"

namespace megalith::fp8 {
namespace {

// settings: initial, least, window, hysteresis.
quant::LossScaleRule rule_of(const VectorFile& file, const std::string& tensor, const std::vector<double>& settings) {
  const auto is_count = [](double x) { return x >= 0 && x <= 0x1p30 && x == std::floor(x); };
  check(is_count(settings[2]) && is_count(settings[3]),
        "{}: tensor \"{}\" has a window of {} and a hysteresis of {}: want whole numbers from 0", file.path(), tensor,
        settings[2], settings[3]);
  return {float(settings[0]), float(settings[1]), i32(settings[2]), i32(settings[3])};
}

void hold_steps(VectorFile& file, VectorCheck& held, const std::string& run) {
  const std::string settings = run + "/settings";
  const quant::LossScaleRule rule = rule_of(file, settings, file.read<double>(settings, {4}));
  const Shape shape = file.shape(run + "/found_inf", 1);
  quant::LossScale scale(rule);
  std::vector<float> used, after, inverse;
  std::vector<i32> clean, left;
  for (const u8 found_inf : file.read<u8>(run + "/found_inf", shape)) {
    used.push_back(scale.scale), inverse.push_back(scale.inverse());
    scale.update(rule, found_inf != 0);
    after.push_back(scale.scale), clean.push_back(scale.clean), left.push_back(scale.left);
  }
  held.equal<float>(run + "/scale_used", shape, used);
  held.equal<float>(run + "/inv_used", shape, inverse);
  held.equal<float>(run + "/scale_after", shape, after);
  held.equal<i32>(run + "/clean_after", shape, clean);
  held.equal<i32>(run + "/hysteresis_after", shape, left);
}

}  // namespace

void check_loss_scale(VectorFile& file, VectorCheck& held) {
  const std::vector<std::string> runs = file.groups("");
  check(!runs.empty(), "{}: no tensors RUN/settings", file.path());
  for (const std::string& run : runs) hold_steps(file, held, run);
}

}  // namespace megalith::fp8
