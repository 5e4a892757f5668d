// Lower bounds of the time and memory of all plans of a layout.
#pragma once
#include "exec/sim/facts_clock.h"
#include "search/estimate.h"

namespace megalith::search {

struct Bound {
  double seconds = 0;  // of a step
  double bytes = 0;    // of the fullest rank
};

// Uses only the model's sizes and the device's facts.
class Bounds {
 public:
  Bounds(const Options& base, const DeviceFacts& facts, i64 gpus);
  Bound of(const Choice& c) const;
  double flops() const { return flops_; }  // the model's flops in a step

 private:
  double seconds_of(const Choice& c) const;

  const Options& base_;
  i64 gpus_;
  double flops_ = 0, layer_flops_ = 0;  // in a step; the layers' part of it
  double dense_ = 0, experts_ = 0;      // parameters
  double held_ = 0, state_ = 0;         // bytes of a parameter: weight and gradient; optimizer state
  double fastest_ = 0;                  // flop/s, the highest rate of the clock for any op
  double context_bytes_ = 0;
};

// Tighter bounds from the time of blocks on one rank. The sum over ranks that share a block is not smaller, except
// for kRough of it. Transfers between tensor-parallel ranks, and between ranks that share experts, are added.
inline constexpr double kRough = 0.05;

class RoughCosts {
 public:
  RoughCosts(const Options& base, const DeviceFacts& facts, i64 gpus, BlockCosts& costs, InFlight& in_flight);
  // `bound`: the choice's. The result is not below it. It is the same for a model that cannot be built: the rules
  // report it.
  Bound of(const Choice& c, const Bound& bound);

 private:
  struct Whole {
    double work = 0;  // seconds of a micro-batch on one rank
    double kept = 0;  // bytes
  };
  const Whole& whole(const Choice& c);
  Bound of(const Whole& one, const Choice& c, const Bound& bound) const;
  double sent(const Choice& c) const;                      // seconds of a micro-batch in all layers
  double among_neighbours(double bytes, i64 ranks) const;  // seconds of an all-gather of this many bytes in total

  const Options& base_;
  const DeviceFacts& facts_;
  i64 gpus_;
  BlockCosts& costs_;
  InFlight& in_flight_;
  sim::FactsClock clock_;
  std::map<Choice, Whole> known_;
};

}  // namespace megalith::search
