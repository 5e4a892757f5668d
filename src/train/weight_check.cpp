#include "train/weight_check.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <map>

#include "base/log.h"
#include "base/rng.h"
#include "comm/doubt_codes.h"
#include "comm/member.h"

namespace megalith {

// The rank's place on all axes but those on which others hold the same part.
static std::string block_of(const Layout& layout, const Coord& coord) {
  std::string out;
  for (const Axis a : kAllAxes)
    out += groups::data_context.has(a) && !layout.state(a).is_split() ? "* " : fmt::format("{} ", coord[int(a)]);
  return out;
}

WeightCheck::WeightCheck(const PlannedStep& step, const Coord& coord, Interpreter& interpreter, Ranks& ranks)
    : step_(step), coord_(coord), interpreter_(interpreter), ranks_(ranks) {
  const auto add = [&](const Parameter& p, bool has_main) {
    const Leaf* leaf = &step.plan.leaf(p.name);  // its own, or in a bucket
    Weight& w = weights_.emplace_back(Weight{p.name, block_of(p.type.layout, coord), {leaf}});
    const Leaf* main = has_main ? step.plan.find_leaf(fmt::format("{}.{}", p.name, kMainSuffix)) : nullptr;
    if (main) w.leaves.push_back(main);
  };
  for (const Parameter& p : step.parameters) add(p, step.buckets.empty());
  for (const Parameter& p : step.untrained) add(p, false);
}

std::vector<CopyHash> WeightCheck::hashes() const {
  std::vector<const Leaf*> leaves;
  for (const Weight& w : weights_) leaves.insert(leaves.end(), w.leaves.begin(), w.leaves.end());
  const std::vector<u64> all = hash_leaves(interpreter_, step_.plan.mesh, coord_, leaves);
  std::vector<CopyHash> out;
  size_t i = 0;
  for (const Weight& w : weights_) {
    CopyHash& c = out.emplace_back(CopyHash{w.block, w.name});
    for (size_t k = 0; k < w.leaves.size(); ++k) c.hash = mix(c.hash, all[i++]);
  }
  return out;
}

// Ranks exchange one hash for all weights that they share with the same other ranks. Only if these differ, one for each
// weight.
std::optional<int> WeightCheck::look(i64 iteration) const {
  const std::vector<CopyHash> mine = hashes();
  std::map<std::string, u64> sums;
  for (const CopyHash& c : mine) sums[c.block] = mix(sums[c.block], c.hash);
  std::vector<CopyHash> told;
  for (const auto& [block, hash] : sums) told.push_back({block, "", hash});
  if (odd_copies(ranks_.all_gather(text_of(told))).empty()) return {};
  return tell(iteration, mine);
}

int WeightCheck::tell(i64 iteration, const std::vector<CopyHash>& mine) const {
  const std::vector<std::string> hosts = ranks_.all_gather(Member::self(ranks_.rank()).host);
  const std::vector<OddCopy> odd = odd_copies(ranks_.all_gather(text_of(mine)));
  for (const OddCopy& o : odd) {
    const std::string weights = o.weights == 1 ? o.weight : fmt::format("{} and {} more", o.weight, o.weights - 1);
    if (o.is_clear)
      log::warn(
          "iteration {}: rank {} on {} has wrong weights: its copy of {} differs from those of ranks {}. If it is "
          "named "
          "again take its device out",
          iteration, o.rank, hosts[size_t(o.rank)], weights, fmt::join(o.others, " "));
    else
      log::warn(
          "iteration {}: rank {} on {} may have wrong weights: its copy of {} differs from that of rank {}, and too "
          "few "
          "agree to tell which is right. If it is named again with another rank take its device out",
          iteration, o.rank, hosts[size_t(o.rank)], weights, fmt::join(o.others, " "));
  }
  const auto is_mine = [&](const OddCopy& o) { return o.rank == ranks_.rank(); };
  return std::ranges::any_of(odd, is_mine) ? kTransientDoubt : kEndedByOthers;
}

}  // namespace megalith
