// A layout's step time and memory, estimated from the costs of its blocks. It is accurate enough to skip the planning
// of most layouts.
#pragma once
#include <optional>

#include "search/block_costs.h"

namespace megalith::search {

struct Estimate {
  double seconds = 0;
  double error = 0;  // how far the whole plan's time may be below it, as a fraction
  double bytes = 0;  // of the fullest stage, with the device context
};

// The `error` of a step with few tasks: the ends of a stage count more.
inline constexpr double kError = 0.03;
// How far the memory of a whole plan may be below its estimate: a fraction, and bytes.
inline constexpr double kMemoryError = 0.03, kMemorySlack = 128 << 20;

// Micro-batches whose activations a stage holds, of each of its pieces. It asks the schedules themselves.
class InFlight {
 public:
  const std::vector<int>& of(const Choice& c, int stage, int micro_batches);

 private:
  std::map<std::vector<i64>, std::vector<int>> known_;
};

// `options`: with(base, choice). Error if the layers cannot be divided. With --tp-comm-overlap it takes all transfers
// that may overlap to cost nothing.
Estimate estimate(const Options& options, const Choice& c, BlockCosts& costs, InFlight& in_flight,
                  const DeviceFacts& facts);
// Whether work of neighbouring layers overlaps, which the costs of single layers do not show.
bool layers_overlap(const Options& base, const Choice& c);
// The same estimate by pairs of layers. Nothing if none of a kind come one after another.
std::optional<Estimate> estimate_by_pairs(const Options& options, const Choice& c, BlockCosts& costs,
                                          InFlight& in_flight, const DeviceFacts& facts);

}  // namespace megalith::search
