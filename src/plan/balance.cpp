#include "plan/balance.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <ranges>

#include "base/check.h"

namespace megalith {

namespace {

constexpr double kTie = 1e-12;  // relative: costs that are equal but for rounding

// Two searches. Bisection finds the smallest largest cost: a limit is possible if filling each part up to the limit
// suffices. A dynamic program from the last part to the first finds the most even split within it. Part k begins at
// one of the layers from lowest_[k] to highest_[k]. A later beginning has a later best end, because squares of sums
// are Monge. So the middle beginning is solved first, and halves the range of the others.
class Balancer {
 public:
  Balancer(const std::vector<double>& costs, double first, double last, i64 parts)
      : first_(first), last_(last), parts_(parts), layers_(i64(costs.size())), sums_(costs.size() + 1) {
    long double sum = 0;  // so that equal parts' costs differ by the rounding of two numbers, not of thousands
    for (i64 i = 0; i < layers_; ++i) sums_[i + 1] = double(sum += costs[i]);
    needed_.assign(parts_ + 1, 0);
    for (i64 k = parts_ - 1; k >= 0; --k) needed_[k] = needed_[k + 1] + least(k);
  }

  std::vector<i64> run() {
    limit_ = least_limit() * (1 + kTie);
    find_windows();
    rest_.assign(1, 0);
    ends_.resize(parts_);
    for (i64 k = parts_ - 1; k >= 0; --k) {
      part_ = k;
      best_.resize(highest_[k] - lowest_[k] + 1);
      ends_[k].resize(best_.size());
      solve(lowest_[k], highest_[k], lowest_[k + 1], highest_[k + 1]);
      std::swap(rest_, best_);
    }
    std::vector<i64> counts;
    for (i64 k = 0, i = 0; k < parts_; i += counts.back(), ++k) counts.push_back(ends_[k][i - lowest_[k]] - i);
    return counts;
  }

 private:
  double cost(i64 part, i64 from, i64 to) const {
    return sums_[to] - sums_[from] + (part == 0 ? first_ : 0) + (part == parts_ - 1 ? last_ : 0);
  }
  i64 least(i64 part) const {  // layers
    return (part == 0 && first_ > 0) || (part == parts_ - 1 && last_ > 0) ? 0 : 1;
  }

  // The last possible end of the part if it begins at `from`: it keeps the limit, and leaves enough layers for later
  // parts. Below `from` if it cannot begin there.
  i64 reach(i64 part, i64 from, double limit) const {
    const auto ends = std::views::iota(from, std::max(from, layers_ - needed_[part + 1]) + 1);
    const auto fits = [&](i64 to) { return cost(part, from, to) <= limit; };
    return from + (std::ranges::partition_point(ends, fits) - ends.begin()) - 1;
  }
  // The first possible beginning of the part if it ends at `to`.
  i64 reach_back(i64 part, i64 to, double limit) const {
    const auto begins = std::views::iota(needed_[0] - needed_[part], to + 1);
    const auto exceeds = [&](i64 from) { return cost(part, from, to) > limit; };
    return begins.front() + (std::ranges::partition_point(begins, exceeds) - begins.begin());
  }

  bool keeps(double limit) const {
    i64 at = 0;
    for (i64 k = 0; k < parts_; ++k) {
      const i64 to = reach(k, at, limit);
      if (to < at + least(k)) return false;
      at = to;
    }
    return at == layers_;
  }

  double least_limit() const {
    double below = 0, kept = sums_[layers_] + first_ + last_;
    for (double middle = kept / 2; below < middle && middle < kept; middle = below + (kept - below) / 2)
      (keeps(middle) ? kept : below) = middle;
    return kept;
  }

  void find_windows() {
    lowest_.assign(parts_ + 1, layers_), highest_.assign(parts_ + 1, layers_);
    highest_[0] = 0;
    for (i64 k = 0; k + 1 < parts_; ++k) highest_[k + 1] = reach(k, highest_[k], limit_);
    for (i64 k = parts_ - 1; k >= 0; --k) lowest_[k] = reach_back(k, lowest_[k + 1], limit_);
  }

  // Best end of the part for each begin in [first, last]; ends are in [from, to]. Among equal ends the earliest.
  void solve(i64 first, i64 last, i64 from, i64 to) {
    if (first > last) return;
    const i64 begin = first + (last - first) / 2;
    double& best = best_[begin - lowest_[part_]];
    i64& end = ends_[part_][begin - lowest_[part_]];
    best = std::numeric_limits<double>::infinity();
    for (i64 e = std::max(from, begin + least(part_)); e <= to; ++e) {
      const double c = cost(part_, begin, e), sum = c * c + rest_[e - lowest_[part_ + 1]];
      if (c > limit_) break;
      if (sum < best - kTie * sum) best = sum, end = e;
    }
    solve(first, begin - 1, from, end);
    solve(begin + 1, last, end, to);
  }

  double first_, last_, limit_ = 0;
  i64 parts_, layers_, part_ = 0;
  std::vector<double> sums_;
  std::vector<i64> needed_;             // the fewest layers of part k and all later parts together
  std::vector<i64> lowest_, highest_;   // first and last possible begin of part k; at [parts]: of the last part's end
  std::vector<double> rest_, best_;     // least sums of squares from a begin of the next part; of this part
  std::vector<std::vector<i64>> ends_;  // [part][beginning - lowest]
};

void check_cost(const char* what, double cost) {
  check(std::isfinite(cost) && cost >= 0, "the cost of {} is {}: give a number of at least 0", what, cost);
}

}  // namespace

std::vector<i64> balance(const std::vector<double>& layer_costs, double first_extra, double last_extra, i64 parts) {
  check(parts >= 1, "layers for {} pipeline stages: give at least 1", parts);
  for (double c : layer_costs) check_cost("a layer", c);
  check_cost("the embedding", first_extra);
  check_cost("head and loss", last_extra);
  const i64 alone = parts > 1 ? (first_extra > 0) + (last_extra > 0) : 0;
  const i64 layers = i64(layer_costs.size());
  check(layers >= std::max<i64>(1, parts - alone), "{} layers for {} pipeline stages: take at most {} stages", layers,
        parts, layers + alone);
  return Balancer(layer_costs, first_extra, last_extra, parts).run();
}

}  // namespace megalith
