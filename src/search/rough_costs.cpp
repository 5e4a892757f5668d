#include <algorithm>

#include "search/bounds.h"

namespace megalith::search {

RoughCosts::RoughCosts(const Options& base, const DeviceFacts& facts, i64 gpus, BlockCosts& costs, InFlight& in_flight)
    : base_(base), facts_(facts), gpus_(gpus), costs_(costs), in_flight_(in_flight), clock_(facts) {}

const RoughCosts::Whole& RoughCosts::whole(const Choice& c) {
  Choice one{.micro_batch = c.micro_batch};
  one.zero_bubble = c.zero_bubble, one.recompute = c.recompute, one.offload = c.offload;
  if (const auto it = known_.find(one); it != known_.end()) return it->second;
  const std::map<int, BlockCost>& blocks = costs_.of(one);
  Whole all;
  for (int block = 0; block < costs_.blocks(); ++block) {
    const BlockCost& b = blocks.at(costs_.kind(block));
    all.work += b.forward + b.backward + b.weights, all.kept += b.kept;
  }
  return known_.emplace(one, all).first->second;
}

// Into attention and the MLP, and out of them, forward and backward: of these eight, six at the least.
double RoughCosts::sent(const Choice& c) const {
  if (c.tp == 1 || base_.parallel.tp_comm_overlap) return 0;
  constexpr double kTransfers = 6, kBytes = 2;
  const double tokens = double(c.micro_batch * base_.model.seq_length) / double(c.cp);
  const double bytes = kBytes * tokens * double(base_.model.hidden_size), ranks = double(c.tp);
  std::vector<int> group;
  for (int i = 0; i < int(c.tp); ++i) group.push_back(i);
  return kTransfers * clock_.transfer(bytes * (ranks - 1) / ranks, bytes, group);
}

Bound RoughCosts::of(const Choice& c, const Bound& bound) {
  const Whole& one = whole(c);
  const double ranks = double(c.tp * c.pp * c.cp), dp = double(gpus_) / ranks;
  const double n = std::max(1.0, double(base_.train.global_batch_size) / (double(c.micro_batch) * dp));
  const double work = one.work / ranks + sent(c) * double(base_.model.num_layers) / double(c.pp);
  const double idle = c.zero_bubble ? 0 : double(c.pp - 1) / (n * double(c.vpp));
  const double kept = one.kept / ranks * in_flight_.of(c, 0, int(n));
  constexpr double kEven = 0.8;  // a first stage may have less than its share of the layers
  return {std::max(bound.seconds, n * work * (1 + idle) * (1 - kRough)), bound.bytes + kEven * kept};
}

}  // namespace megalith::search
