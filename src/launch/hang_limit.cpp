#include "launch/hang_limit.h"

#include <algorithm>

namespace megalith::launch {

constexpr double kTimes = 5, kLeast = 2, kLeastApart = 10;

void HangLimit::Gaps::end() {
  constexpr size_t kSteps = 32;
  last.push_back(longest);
  if (last.size() > kSteps) last.pop_front();
  longest = 0;
}

std::optional<double> HangLimit::Gaps::limit(double least) const {
  if (last.empty()) return {};
  return std::max(least, kTimes * std::max(longest, *std::ranges::max_element(last)));
}

void HangLimit::begin(double now) {
  began_ = moved_ = now;
  phase_ = Phase::training;
  has_stepped_ = false;
  for (Gaps& g : gaps_) g.longest = 0;
}

void HangLimit::progressed(bool is_step, Phase next, double now) {
  Gaps& g = gaps_[size_t(phase_)];
  if (has_stepped_) {
    g.longest = std::max(g.longest, now - moved_);
    if (phase_ == Phase::training ? is_step : next != phase_) g.end();
  } else if (is_step) {
    last_start_ = now - began_, longest_start_ = std::max(longest_start_, last_start_);
  }
  has_stepped_ = has_stepped_ || is_step, is_start_unknown_ = is_start_unknown_ && !is_step;
  moved_ = now, phase_ = next;
}

std::optional<double> HangLimit::seconds() const {
  const double least = std::max(phase_ == Phase::training ? kLeast : kLeastApart, last_start_);
  if (has_stepped_) return gaps_[size_t(phase_)].limit(least);
  return longest_start_ > 0 && !is_start_unknown_ ? std::optional(std::max(kLeastApart, kTimes * longest_start_))
                                                  : std::nullopt;
}

}  // namespace megalith::launch
