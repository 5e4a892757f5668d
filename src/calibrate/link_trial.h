// Measures transfers between ranks as runs do them: relayouts of a plan, in line or on a lane, and messages of a
// pipeline. Also measures the slowdown of kernels during transfers. All ranks measure at the same time, and the
// slowest counts.
#pragma once
#include "comm/ranks.h"
#include "facts/device_facts.h"
#include "plan/interpreter.h"

namespace megalith {

struct LinkTrialSizes {
  std::vector<i64> bytes;  // message sizes, ascending
  i64 beside = 0;          // size of the transfer that overlaps kernels
  i64 product = 0;         // rows, columns and depth of the overlapping product
  i64 sequence = 0;        // size of the attention
  i64 elements = 0;        // size of the sum
  int looks = 5;           // repetitions, of which the median counts
};
LinkTrialSizes link_trial_sizes(bool gpu);

// Logs a line for each kind. Groups have 2 ranks, and all ranks.
std::vector<TransferFact> time_transfers(const Backend& backend, Ranks& ranks, const LinkTrialSizes& sizes);
BesideFacts time_beside(const Backend& backend, Ranks& ranks, const LinkTrialSizes& sizes);

// Slowdowns, from the times without and with overlap (seconds): of `kernels` that outlast `moved`, and the reverse.
struct BesideTimes {
  double kernels = 0, moved = 0, longer_kernels = 0, at_once = 0;  // longer_kernels overlapped with moved
  double longer_moved_at_once = 0;                                 // kernels overlapped with longer moves
};
struct Slowdowns {
  double kernels = 1, transfer = 1;
};
Slowdowns slowdowns(const BesideTimes& t);

// The maximum over ranks.
double largest_of(Ranks& ranks, double mine);

}  // namespace megalith
