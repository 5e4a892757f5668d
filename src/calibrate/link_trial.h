// What ranks move between them, timed as runs move it: relayouts of a plan, in line or on a lane, and messages of a
// pipeline; and what kernels take beside them. All ranks measure at once, and the slowest counts.
#pragma once
#include "comm/ranks.h"
#include "facts/device_facts.h"
#include "plan/interpreter.h"

namespace megalith {

struct LinkTrialSizes {
  std::vector<i64> bytes;  // of messages, ascending
  i64 beside = 0;          // of the transfer that kernels run beside
  i64 product = 0;         // rows, columns and sums of the product beside it
  i64 sequence = 0;        // of the attention
  i64 elements = 0;        // of the sum
  int looks = 5;           // the one in the middle counts
};
LinkTrialSizes link_trial_sizes(bool gpu);

// Says a line for each kind. Groups are of 2 ranks, and of all.
std::vector<TransferFact> time_transfers(const Backend& backend, Ranks& ranks, const LinkTrialSizes& sizes);
BesideFacts time_beside(const Backend& backend, Ranks& ranks, const LinkTrialSizes& sizes);

// From what both take alone and at once (seconds): `kernels` that outlast `moved`, and the other way round.
struct BesideTimes {
  double kernels = 0, moved = 0, longer_kernels = 0, at_once = 0;  // longer_kernels beside moved
  double longer_moved_at_once = 0;                                 // kernels beside moved
};
struct Slowdowns {
  double kernels = 1, transfer = 1;
};
Slowdowns slowdowns(const BesideTimes& t);

// The most of what the ranks say.
double largest_of(Ranks& ranks, double mine);

}  // namespace megalith
