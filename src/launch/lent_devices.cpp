#include "launch/lent_devices.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <numeric>
#include <sstream>

namespace megalith::launch {

// Counts the driver's files: a query to the driver itself takes a second.
static int driven_gpus() {
  std::error_code none;
  const std::filesystem::directory_iterator gpus("/proc/driver/nvidia/gpus", none);
  return none ? 0 : int(std::distance(begin(gpus), end(gpus)));
}

LentDevices::LentDevices(int devices) : order_(size_t(std::max(devices, 0))) {
  std::iota(order_.begin(), order_.end(), size_t{0});
  const char* given = std::getenv("CUDA_VISIBLE_DEVICES");
  std::istringstream in(given ? given : "");
  for (std::string name; std::getline(in, name, ',');) names_.push_back(name);
  there_ = given ? std::min(int(names_.size()), driven_gpus()) : driven_gpus();
  for (size_t i = names_.size(); i < order_.size(); ++i) names_.push_back(std::to_string(i));
}

void LentDevices::put_last(int local_rank) {
  if (local_rank < 0 || size_t(local_rank) >= given_.size()) return;
  const auto at = std::ranges::find(order_, given_[size_t(local_rank)]);
  std::rotate(at, at + 1, order_.end());
}

std::string LentDevices::visible(int ranks) const {
  if (std::ranges::is_sorted(order_)) return {};
  std::vector<std::string> names;
  for (size_t i = 0; i < order_.size() && int(i) < ranks; ++i) names.push_back(names_[order_[i]]);
  return fmt::format("{}", fmt::join(names, ","));
}

std::string LentDevices::own(int local_rank, int ranks) const {
  return ranks <= there_ && size_t(local_rank) < order_.size() ? names_[order_[size_t(local_rank)]] : "";
}

}  // namespace megalith::launch
