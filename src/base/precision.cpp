#include "base/precision.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <set>
#include <vector>

namespace megalith {

DType Precision::state(std::string_view suffix) const {
  const auto it = states.find(suffix);
  return it == states.end() ? main_parameters : it->second;
}

Precision computing_in(DType compute) {
  const DType wide = accum_of(compute);
  return {compute, compute, compute, wide, wide, wide, compute, {}};
}

std::string to_string(const Precision& p) {
  std::vector<std::pair<std::string, DType>> parts = {{"activations", p.activations},
                                                      {"products", p.products},
                                                      {"residual stream", p.residual},
                                                      {"weights", p.parameters},
                                                      {"main weights", p.main_parameters},
                                                      {"gradients", p.gradients},
                                                      {"sums over ranks", p.gradient_communication}};
  for (const auto& [suffix, dtype] : p.states) parts.emplace_back(suffix, dtype);
  if (p.states.empty()) parts.emplace_back("optimizer state", p.main_parameters);
  std::vector<std::string> out;
  std::set<DType> told;
  for (const auto& first : parts) {
    if (!told.insert(first.second).second) continue;
    std::vector<std::string_view> alike;
    for (const auto& [part, dtype] : parts)
      if (dtype == first.second) alike.push_back(part);
    out.push_back(fmt::format("{}: {}", name_of(first.second), fmt::join(alike, ", ")));
  }
  return fmt::format("{}", fmt::join(out, "; "));
}

}  // namespace megalith
