#include "exec/sim/paper_libraries.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>

namespace megalith::sim {

namespace {

// The allowed maximum (exec/cuda/products/gemm.cpp).
constexpr i64 kMostOfProduct = i64{32} << 20;

// Sums are cut, which needs workspace, only if a product has too few tiles for all multiprocessors.
bool has_few_tiles(i64 m, i64 n, int sms) {
  constexpr i64 kRows = 128, kColumns = 256;
  return ((m + kRows - 1) / kRows) * ((n + kColumns - 1) / kColumns) <= 2 * i64(sms);
}

// The maximum of the known products with many tiles; the allowed maximum if there are none.
i64 most_of_many_tiles(const std::map<std::string, i64>& known, int sms) {
  i64 most = -1;
  for (const auto& [problem, bytes] : known) {
    long long m = 0, n = 0;
    if (std::sscanf(problem.c_str(), "%lldx%lldx", &m, &n) == 2 && !has_few_tiles(m, n, sms))
      most = std::max(most, bytes);
  }
  return most < 0 ? kMostOfProduct : most;
}

}  // namespace

std::optional<i64> PaperLibraries::product(const cuda::GemmProblem& problem) const {
  const std::string text = cuda::to_string(problem);
  if (const auto it = facts_.product_workspaces.find(text); it != facts_.product_workspaces.end())
    return it->second < 0 ? std::nullopt : std::optional(it->second);
  const bool few = has_few_tiles(problem.spec.m, problem.spec.n, facts_.sms);
  if (!few && !most_) most_ = most_of_many_tiles(facts_.product_workspaces, facts_.sms);
  return products_[text] = few ? kMostOfProduct : *most_;
}

std::optional<i64> PaperLibraries::attention(const cuda::CudnnAttention& problem) const {
  const std::string text = cuda::to_string(problem);
  if (const auto it = facts_.attention_workspaces.find(text); it != facts_.attention_workspaces.end())
    return it->second < 0 ? std::nullopt : std::optional(it->second);
  // Forward plans needed 256 bytes at all sizes. A backward plan needs the scores of the part that it processes.
  const i64 padded = (problem.s + 127) / 128 * 128, scores = problem.b * problem.g * problem.r * padded * padded * 2;
  constexpr i64 kForward = i64{64} << 10, kRoom = i64{1} << 20;
  return attention_[text] = problem.backward ? scores + scores / 8 + kRoom : kForward;
}

std::vector<std::string> PaperLibraries::lines() const {
  std::vector<std::string> out;
  const auto add = [&](const char* what, const std::map<std::string, i64>& bounds) {
    if (bounds.empty()) return;
    const auto most = std::ranges::max_element(bounds, {}, [](const auto& b) { return b.second; });
    out.push_back(fmt::format("{} {}, {} bytes at most: {}", bounds.size(), what, most->second, most->first));
  };
  add("products of cuBLASLt", products_), add("attentions of cuDNN", attention_);
  for (const std::string& op : kernels_) out.push_back(fmt::format("{}, by the blocks that a GPU has at most", op));
  return out;
}

}  // namespace megalith::sim
