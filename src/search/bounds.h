// What no plan of a layout can be below.
#pragma once
#include "exec/sim/facts_clock.h"
#include "search/estimate.h"

namespace megalith::search {

struct Bound {
  double seconds = 0;  // of a step
  double bytes = 0;    // of the fullest rank
};

// From the model's numbers and the device's alone.
class Bounds {
 public:
  Bounds(const Options& base, const DeviceFacts& facts, i64 gpus);
  Bound of(const Choice& c) const;
  double flops() const { return flops_; }  // of a step, the model's

 private:
  double seconds_of(const Choice& c) const;

  const Options& base_;
  i64 gpus_;
  double flops_ = 0, layer_flops_ = 0;  // of a step; of them layers'
  double dense_ = 0, experts_ = 0;      // parameters
  double held_ = 0, state_ = 0;         // bytes of each: weight and gradient; optimizer's state
  double fastest_ = 0;                  // flop/s, the most that the clock gives to anything
  double context_bytes_ = 0;
};

// The same with the time that blocks take on one rank: those that are shared out take no less in sum, but for kRough of
// it. What tensor-parallel ranks, and those that share experts, send is added.
inline constexpr double kRough = 0.05;

class RoughCosts {
 public:
  RoughCosts(const Options& base, const DeviceFacts& facts, i64 gpus, BlockCosts& costs, InFlight& in_flight);
  // `bound`: the choice's. At least it.
  Bound of(const Choice& c, const Bound& bound);

 private:
  struct Whole {
    double work = 0;  // seconds of a micro-batch on one rank
    double kept = 0;  // bytes
  };
  const Whole& whole(const Choice& c);
  double sent(const Choice& c) const;                      // seconds of a micro-batch in all layers
  double among_neighbours(double bytes, i64 ranks) const;  // seconds: a gathering of so many bytes in all

  const Options& base_;
  const DeviceFacts& facts_;
  i64 gpus_;
  BlockCosts& costs_;
  InFlight& in_flight_;
  sim::FactsClock clock_;
  std::map<Choice, Whole> known_;
};

}  // namespace megalith::search
