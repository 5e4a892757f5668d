// The libraries' workspaces by a device's facts. If the facts lack one, it is the maximum, which is recorded.
#pragma once
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "exec/cuda_needs/needs.h"
#include "facts/device_facts.h"

namespace megalith::sim {

class PaperLibraries final : public cuda::LibraryNeeds {
 public:
  explicit PaperLibraries(const DeviceFacts& facts) : facts_(facts) {}
  std::optional<i64> product(const cuda::GemmProblem& problem) const override;
  std::optional<i64> attention(const cuda::CudnnAttention& problem) const override;
  void bounded(std::string_view op) const override { kernels_.insert(std::string(op)); }

  std::vector<std::string> lines() const;

 private:
  const DeviceFacts& facts_;
  mutable std::optional<i64> most_;                          // of the known products with many tiles
  mutable std::map<std::string, i64> products_, attention_;  // bounds by problem
  mutable std::set<std::string> kernels_;
};

}  // namespace megalith::sim
