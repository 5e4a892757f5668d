// The layouts that memory refuses: how many, the nearest ones, and how good the best of them may be.
#pragma once
#include <algorithm>
#include <limits>
#include <vector>

#include "search/search.h"

namespace megalith::search {

class Misses {
 public:
  // least: the smallest possible sort key of the layout (search/objective.h).
  void add(const Miss& m, double least) {
    ++count_;
    least_ = std::min(least_, least);
    layouts_.push_back(m);
    constexpr size_t kMany = 4096;
    if (layouts_.size() >= kMany) layouts_ = nearest();
  }
  i64 count() const { return count_; }
  double least() const { return least_; }
  // The three that need the least memory, first the nearest.
  std::vector<Miss> nearest() const {
    constexpr size_t kNearest = 3;
    std::vector<Miss> out = layouts_;
    std::ranges::sort(out, {}, &Miss::bytes);
    if (out.size() > kNearest) out.resize(kNearest);
    return out;
  }

 private:
  i64 count_ = 0;
  double least_ = std::numeric_limits<double>::infinity();
  std::vector<Miss> layouts_;
};

}  // namespace megalith::search
