#include "observe/cast_values.h"

#include <fmt/format.h>

#include <map>

namespace megalith {

i64 layer_of(const std::string& tensor) {
  constexpr std::string_view stack = "decoder.layers.";
  return tensor.starts_with(stack) ? std::stoll(tensor.substr(stack.size())) : -1;
}

std::vector<CastShares> cast_shares(std::span<const CastLoss> casts) {
  std::map<std::pair<i64, std::string>, CastLoss> sums;  // by layer and kind
  const auto add = [&](i64 layer, const std::string& kind, const CastLoss& c) {
    CastLoss& sum = sums[{layer, kind}];
    sum.saturated += c.saturated, sum.underflow += c.underflow, sum.values += c.values;
  };
  for (const CastLoss& c : casts) {
    add(-1, "", c), add(-1, c.kind, c);
    if (const i64 layer = layer_of(c.layer); layer >= 0) add(layer, c.kind, c);
  }
  std::vector<CastShares> out;
  for (const auto& [place, sum] : sums)
    out.push_back({place.second, place.first, sum.saturated / sum.values, sum.underflow / sum.values});
  return out;
}

std::vector<NamedValue> cast_values(std::span<const CastLoss> casts) {
  std::vector<NamedValue> out;
  for (const CastShares& s : cast_shares(casts)) {
    std::string of = s.kind.empty() ? "" : "_" + s.kind;
    if (s.layer >= 0) of += fmt::format("_layer_{}", s.layer);
    out.push_back({"fp8_saturated" + of, s.saturated}), out.push_back({"fp8_underflow" + of, s.underflow});
  }
  return out;
}

}  // namespace megalith
