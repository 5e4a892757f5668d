// fp8-check of delayed scaling: amax histories and the scales that follow from them.
#include "quant/delayed.h"

#include "cli/fp8/checks.h"
#include "cli/fp8/key.h"
#include "quant/cast.h"

namespace megalith::fp8 {
namespace {

using quant::AmaxAlgorithm, quant::DelayedRule, quant::Fp8;

}  // namespace

std::optional<DelayedSetting> delayed_setting(std::string_view key) {
  DelayedSetting s;
  const auto format = take_format(key);
  const bool is_max = take(key, "max");
  if (!format || (!is_max && !take(key, "most_recent"))) return std::nullopt;
  const auto slots = take_count(key, "h");
  const auto margin = key.empty() ? std::optional<i64>(0) : take_count(key, "margin");
  if (!slots || *slots == 0 || !margin || !key.empty()) return std::nullopt;
  s.rule = {*format, is_max ? AmaxAlgorithm::max : AmaxAlgorithm::most_recent, int(*margin)};
  s.slots = *slots;
  return s;
}

std::vector<float> reduced_amax(VectorFile& file, i64& updates) {
  const Shape shape = file.shape("amax", 3);
  const std::vector<float> of_ranks = file.read<float>("amax", shape);
  std::vector<float> amax(size_t(shape[0] * shape[2]));
  for (size_t i = 0; i < of_ranks.size(); ++i) {
    const size_t tensors = size_t(shape[2]), update = i / (size_t(shape[1]) * tensors);
    float& reduced = amax[update * tensors + i % tensors];
    reduced = quant::larger(reduced, of_ranks[i]);
  }
  updates = shape[0];
  return amax;
}

namespace {

// amax [updates, tensors]
void hold_updates(VectorFile& file, VectorCheck& held, const std::string& key, const DelayedSetting& setting,
                  const std::vector<float>& amax, i64 updates) {
  const i64 tensors = i64(amax.size()) / updates;
  const Shape scales = {updates, tensors}, histories = {updates, setting.slots, tensors};
  file.read<float>(key + "/history_after", histories);  // checks the shape before we allocate memory
  std::vector<float> history(size_t(setting.slots * tensors)), scale(size_t(tensors), 1.0f), before, after, moved;
  for (i64 u = 0; u < updates; ++u) {
    before.insert(before.end(), scale.begin(), scale.end());
    quant::update_delayed(setting.rule, std::span(amax).subspan(size_t(u * tensors), size_t(tensors)),
                          {history, setting.slots, tensors}, scale);
    after.insert(after.end(), scale.begin(), scale.end());
    moved.insert(moved.end(), history.begin(), history.end());
  }
  held.equal<float>(key + "/scale_before", scales, before);
  held.equal<float>(key + "/scale_after", scales, after);
  held.equal<float>(key + "/history_after", histories, moved);
}

// Repeated casts of one tensor, with a history of 4 and its maximum.
void hold_run(VectorFile& file, VectorCheck& held) {
  constexpr i64 kSlots = 4;
  const DelayedRule rule = {.algorithm = AmaxAlgorithm::max};
  const Shape shape = file.shape("run/x", 2);
  const std::vector<bf16> x = file.read<bf16>("run/x", shape);
  std::vector<float> history(kSlots), scale = {1}, scales;
  std::vector<u8> codes(x.size());
  std::vector<i32> saturated;
  for (i64 u = 0; u < shape[0]; ++u) {
    const auto row = [&](auto all) { return all.subspan(size_t(u * shape[1]), size_t(shape[1])); };
    const std::span<const bf16> values = row(std::span(x));
    scales.push_back(scale[0]);
    quant::cast(rule.format, values, scale[0], row(std::span(codes)));
    saturated.push_back(i32(quant::saturated(rule.format, values, scale[0])));
    const float amax[] = {quant::amax_of(values)};
    quant::update_delayed(rule, amax, {history, kSlots, 1}, scale);
  }
  held.codes("run/e4m3", shape, rule.format, codes);
  held.equal<float>("run/scale", {shape[0]}, scales);
  held.equal<i32>("run/saturated", {shape[0]}, saturated);
}

}  // namespace

void check_delayed(VectorFile& file, VectorCheck& held) {
  i64 updates = 0;
  const std::vector<float> amax = reduced_amax(file, updates);
  int settings = 0;
  for (const std::string& key : file.groups("")) {
    const auto setting = delayed_setting(key);
    if (!setting) continue;  // run/*; others are reported as unknown
    hold_updates(file, held, key, *setting, amax, updates);
    ++settings;
  }
  check(settings > 0, "{}: no tensors FORMAT_ALGORITHM_hSLOTS/scale_after", file.path());
  hold_run(file, held);
}

}  // namespace megalith::fp8
