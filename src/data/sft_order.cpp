#include "data/sft_order.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace megalith {

SftOrder::SftOrder(std::vector<SftShare> shares, u32 seed)
    : shares_(std::move(shares)), shuffled_(shares_.size()), used_(shares_.size()), random_(seed) {
  i64 all = 0;
  double weights = 0;
  for (const SftShare& s : shares_) all += s.conversations, weights += s.weight;
  for (const SftShare& s : shares_) {
    const double share = weights > 0 ? std::nearbyint(s.weight / weights * double(all)) : double(s.conversations);
    take_.push_back(s.conversations > 0 ? i64(share) : 0);
  }
}

i32 SftOrder::next_of(std::size_t file) {
  std::vector<i32>& order = shuffled_[file];
  if (used_[file] == order.size()) {
    order.resize(std::size_t(shares_[file].conversations));
    std::iota(order.begin(), order.end(), 0);
    random_.shuffle(std::span(order));
    used_[file] = 0;
  }
  return order[used_[file]++];
}

std::vector<SftOrder::Pick> SftOrder::next_epoch() {
  std::vector<Pick> picks;
  for (std::size_t f = 0; f < shares_.size(); ++f)
    for (i64 k = 0; k < take_[f]; ++k) picks.push_back({i32(f), next_of(f)});
  random_.shuffle(std::span(picks));
  return picks;
}

}  // namespace megalith
