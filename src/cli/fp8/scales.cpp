// fp8-check of the rules from an amax to a scale.
#include <set>

#include "cli/fp8/checks.h"
#include "cli/fp8/key.h"
#include "quant/scale.h"

namespace megalith::fp8 {
namespace {

using quant::Fp8, quant::ScaleRule;

constexpr Fp8 kFormats[] = {Fp8::e4m3, Fp8::e5m2};
const char* name_of(Fp8 format) { return format == Fp8::e4m3 ? "e4m3" : "e5m2"; }

// The file's name for a scaling rule that uses the tensor's own amax.
struct NamedRule {
  const char* name;
  ScaleRule rule;
};
constexpr NamedRule kRules[] = {{"", {}},
                                {"_pow2", {.power_of_two = true}},
                                {"_eps", {.least_amax = 1e-4f}},
                                {"_bf16", {.at_overflow = quant::kBf16Max}},
                                {"_pow2_bf16", {.power_of_two = true, .at_overflow = quant::kBf16Max}}};

struct HeldScales {
  const std::vector<float>& amax;
  VectorCheck& held;

  Shape shape() const { return {i64(amax.size())}; }

  template <class T, class F>
  std::vector<T> each(F&& f) const {
    std::vector<T> out;
    for (const float a : amax) out.push_back(f(a));
    return out;
  }

  void current(Fp8 format, const NamedRule& named) const {
    const auto of = [&](float a) { return quant::current_scale(a, quant::largest_of(format), named.rule); };
    const std::string name = std::string("current/") + name_of(format) + named.name;
    held.equal<float>(name, shape(), each<float>(of));
    held.equal<float>(name + "_inv", shape(), each<float>([&](float a) { return quant::inverse(of(a)); }));
  }

  // settings: "margin1_old37.5". Other forms are reported as unknown tensors.
  void delayed(Fp8 format, const std::string& settings) const {
    std::string_view rest = settings;
    const auto margin = take_count(rest, "margin");
    const auto old = take_number(rest, "old");
    if (!margin || !old || !rest.empty()) return;
    held.equal<float>(std::string("delayed/") + name_of(format) + "_" + settings, shape(), each<float>([&](float a) {
                        return quant::delayed_scale(a, *old, quant::largest_of(format), int(*margin));
                      }));
  }
};

// The settings of delayed scales. Each needs both formats.
std::set<std::string> settings_of_delayed(const VectorFile& file) {
  std::set<std::string> settings;
  for (const std::string& name : file.names("delayed/")) {
    std::string_view rest = name;
    if (take_format(rest)) settings.emplace(rest);
  }
  check(!settings.empty(), "{}: no tensor delayed/FORMAT_marginM_oldS", file.path());
  return settings;
}

}  // namespace

void check_scales(VectorFile& file, VectorCheck& held) {
  const std::vector<float> amax = file.read<float>("amax", file.shape("amax", 1));
  const HeldScales scales = {amax, held};
  const std::set<std::string> delayed = settings_of_delayed(file);
  for (const Fp8 format : kFormats) {
    for (const NamedRule& named : kRules) scales.current(format, named);
    for (const std::string& settings : delayed) scales.delayed(format, settings);
    held.equal<u8>(std::string("mx/e8m0_") + name_of(format), scales.shape(),
                   scales.each<u8>([&](float a) { return quant::mx_code(a, quant::largest_of(format)); }));
  }
  held.equal<float>("nv/global_encode", scales.shape(), scales.each<float>(quant::nv_factor));
  held.equal<float>("nv/global_decode", scales.shape(),
                    scales.each<float>([](float a) { return quant::inverse(quant::nv_factor(a)); }));
}

}  // namespace megalith::fp8
