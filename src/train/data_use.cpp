#include "train/data_use.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/valid_utf8.h"

namespace megalith {

std::vector<DatasetUse> data_use(const DataConfig& config, const Dataset& train, i64 consumed_samples) {
  if (config.dataloader_type != SamplerType::single) return {};
  std::vector<DatasetUse> use = train.use(std::min(consumed_samples, train.size()));
  for (DatasetUse& u : use) u.name = valid_utf8(u.name);  // a checkpoint's names are compared with it
  return use;
}

std::string data_use_line(std::vector<DatasetUse> use, i64 consumed_samples) {
  constexpr std::size_t kTold = 20;
  std::ranges::stable_sort(use, std::ranges::greater(), &DatasetUse::epochs);
  std::string line = fmt::format(" data read after {} samples:", consumed_samples);
  for (std::size_t d = 0; d < std::min(use.size(), kTold); ++d)
    line +=
        fmt::format("{} {} {:.4g} epochs ({} samples)", d > 0 ? "," : "", use[d].name, use[d].epochs, use[d].samples);
  if (use.size() > kTold) line += fmt::format(", and {} more", use.size() - kTold);
  return line;
}

std::string changed_data(const std::vector<DatasetUse>& saved, const std::vector<DatasetUse>& now) {
  if (saved.empty() || now.empty()) return {};
  for (std::size_t d = 0; d < std::max(saved.size(), now.size()); ++d) {
    if (d < saved.size() && d < now.size() && saved[d].name == now[d].name && saved[d].samples == now[d].samples) {
      const double before = saved[d].epochs, here = now[d].epochs;
      if (std::abs(before - here) <= 1e-9 * before) continue;
      return fmt::format(
          "the checkpoint has read {} samples of {}: {:.6g} epochs of it then, {:.6g} epochs now: the dataset has "
          "changed, or its samples are cut differently, so samples may be read twice or skipped",
          saved[d].samples, saved[d].name, before, here);
    }
    const auto told = [&](const std::vector<DatasetUse>& use) {
      return d < use.size() ? fmt::format("{} samples of {}", use[d].samples, use[d].name) : std::string("nothing");
    };
    return fmt::format(
        "the checkpoint has read {} as its dataset {}, where this run's data begin after {}: the blend has changed, "
        "so samples may be read twice or skipped",
        told(saved), d + 1, told(now));
  }
  return {};
}

}  // namespace megalith
