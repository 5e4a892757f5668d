#include "exec/sim/symmetric_ranks.h"

#include <algorithm>

#include "exec/cuda_needs/symmetric_needs.h"

namespace megalith::sim {

bool have_symmetric_memory(const std::vector<int>& ranks, const DeviceFacts& facts) {
  const bool nvlink = facts.pcie_gbps > 0 && facts.node.gbps > facts.pcie_gbps;
  const auto node = [&](int rank) { return rank / facts.node_gpus; };
  return nvlink && cuda::may_be_symmetric(ranks.size()) &&
         std::ranges::all_of(ranks, [&](int r) { return node(r) == node(ranks[0]); });
}

}  // namespace megalith::sim
