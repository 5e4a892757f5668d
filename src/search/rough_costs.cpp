// A lower bound of a layout's step time that needs no plan.
#include <algorithm>
#include <numeric>

#include "passes/pass.h"
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
    all.work += b.forward + b.backward + b.weights;
    if (block + 1 < costs_.blocks()) all.kept += b.kept;  // the first stage may have no head
  }
  return known_.emplace(one, all).first->second;
}

double RoughCosts::among_neighbours(double bytes, i64 ranks) const {
  if (ranks == 1) return 0;
  std::vector<int> group;
  for (int i = 0; i < int(ranks); ++i) group.push_back(i);
  return clock_.transfer(bytes * double(ranks - 1) / double(ranks), bytes, group);
}

// Transfers to and from attention and the MLP, forward and backward: at least three of each of these four. With
// --tp-comm-overlap only those of the forward may be exposed, and only if a rank has few tokens (passes/pass.h). A
// mixture gathers the tokens of all ranks that share its experts (models/blocks/tokens_of_experts.h).
double RoughCosts::sent(const Choice& c) const {
  constexpr double kTransfers = 3, kForward = 2, kBytes = 2;
  const ModelConfig& m = base_.model;
  const double tokens = double(c.micro_batch * m.seq_length) / double(c.cp);
  const double bytes = kBytes * tokens * double(m.hidden_size);
  const double forward = tokens / double(c.tp) < double(kOverlappedRows) ? kForward : 0;
  const double tensor = (c.tp_overlap ? forward : kTransfers) * among_neighbours(bytes, c.tp);
  const std::vector<bool> pattern = m.moe.pattern(m.num_layers);
  const double mixtures = double(std::ranges::count(pattern, true)), all = double(m.num_layers);
  const i64 sharing = c.ep * c.etp;
  const double width = double(m.moe.latent_size ? m.moe.latent_size : m.hidden_size);
  const double gathered = kBytes * tokens / double(c.tp) * width * double(sharing);
  const double mixture =
      base_.parallel.moe_shared_expert_overlap || mixtures == 0 ? 0 : kTransfers * among_neighbours(gathered, sharing);
  return all * tensor + (all - mixtures) * tensor + mixtures * mixture;
}

Bound RoughCosts::of(const Choice& c, const Bound& bound) {
  try {
    return of(whole(c), c, bound);
  } catch (const Error&) {
    return bound;
  }
}

Bound RoughCosts::of(const Whole& one, const Choice& c, const Bound& bound) const {
  const double ranks = double(c.tp * c.pp * c.cp), dp = double(gpus_) / ranks;
  const double n = std::max(1.0, double(base_.train.global_batch_size) / (double(c.micro_batch) * dp));
  const double work = one.work / ranks + sent(c) / double(c.pp);
  const double idle = c.zero_bubble ? 0 : double(c.pp - 1) / (n * double(c.vpp));
  const std::vector<int>& slots = in_flight_.of(c, 0, int(n));
  const double kept = one.kept / ranks * std::accumulate(slots.begin(), slots.end(), 0.0) / double(slots.size());
  constexpr double kEven = 0.8;  // a first stage may have fewer layers than the average
  return {std::max(bound.seconds, n * work * (1 + idle) * (1 - kRough)), bound.bytes + kEven * kept};
}

}  // namespace megalith::search
