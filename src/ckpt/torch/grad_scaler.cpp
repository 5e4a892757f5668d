#include "ckpt/torch/grad_scaler.h"

#include "base/parse_json.h"
#include "ckpt/torch/megatron_args.h"
#include "ckpt/torch/torch_zip_writer.h"

namespace megalith {
namespace {

using nlohmann::ordered_json;

constexpr const char *kOurs = "loss_scale", *kGrowth = "growth_tracker", *kHysteresis = "hysteresis_tracker";

std::optional<ordered_json> loss_scale_of(const Manifest& manifest) {
  const auto state = parse_json<ordered_json>(manifest.state_json);
  if (!state.is_object() || !state.contains(kOurs)) return std::nullopt;
  const ordered_json& s = state[kOurs];
  const bool whole = s.is_object() && s.contains("scale") && s["scale"].is_number() && s.contains(kGrowth) &&
                     s[kGrowth].is_number_integer() && s.contains(kHysteresis) && s[kHysteresis].is_number_integer();
  return whole ? std::optional(s) : std::nullopt;
}

}  // namespace

std::string grad_scaler_storage(const Manifest& manifest) {
  const auto s = loss_scale_of(manifest);
  if (!s) return {};
  const float scale = (*s)["scale"].get<float>();
  return std::string(reinterpret_cast<const char*>(&scale), sizeof scale);
}

void put_grad_scaler(PickleWriter& p, const Manifest& manifest) {
  const auto s = loss_scale_of(manifest);
  if (!s) return;
  p.text("grad_scaler");
  p.dict([&] {
    p.text("scale"), pickle_tensor(p, DType::f32, {1});
    for (const char* name : {kGrowth, kHysteresis}) p.entry(name, (*s)[name].get<i64>());
  });
}

void take_grad_scaler(const PickleValue* optimizer, const TorchFile& file, Manifest& manifest) {
  const PickleValue* scaler = optimizer == nullptr ? nullptr : first_optimizer(*optimizer).find("grad_scaler");
  if (scaler == nullptr || !scaler->is_dict()) return;
  const PickleValue *scale = scaler->find("scale"), *growth = scaler->find(kGrowth),
                    *hysteresis = scaler->find(kHysteresis);
  auto state = parse_json<ordered_json>(manifest.state_json);
  if (scale == nullptr || growth == nullptr || hysteresis == nullptr || !state.is_object() || state.contains(kOurs))
    return;  // a constant scale has no trackers
  const auto number = file.number(*scale);
  if (!number) return;
  state[kOurs] = {{"scale", *number},
                  {kGrowth, pickle_integer(growth, "[megatron] the gradient scaler's growth_tracker")},
                  {kHysteresis, pickle_integer(hysteresis, "[megatron] the gradient scaler's hysteresis_tracker")}};
  manifest.state_json = state.dump();
}

}  // namespace megalith
