// Finds the fastest of several ways to compute the same result on a busy GPU. Large bf16 products draw more power than
// an H200 allows. After about 60 ms of them the clock falls to the power limit, from 1980 to 1200..1370 MHz. The time
// of a way is then its cycles divided by the clock that it sustains. One or two runs give exact cycles. A sustained
// clock needs 130 ms of runs, and is within 1.5%. It depends on the way (its tiles, its operands' orientation), hardly
// on sizes. So it is measured for few problems and shared by all.
//
// This is too inexact for ways within 1 or 2% of each other, and the clock drifts with temperature. So the best few
// ways of a problem run in turns, and their times are compared.
//
// Besides suggested ways there may be guessed ones, with several tiles. A long measurement of a guess usually costs
// more than it gains. So only the best way of each of the two best tiles gets one. It must take clearly fewer cycles
// than all suggested ways, and give their results.
#pragma once
#include <functional>
#include <limits>
#include <map>
#include <string>
#include <vector>

#include "base/dtype.h"

namespace megalith::cuda {

struct Sample {
  double cycles = std::numeric_limits<double>::infinity();  // cycles of one run; infinity: it can't run
  double mhz = 0;                                           // mean clock during the runs
};

// The clocks that ways sustain, by name, for all problems.
struct SustainedClock {
  double mhz = 0;  // the mean of the samples
  int samples = 0;
};
using SustainedClocks = std::map<std::string, SustainedClock>;

struct Ways {
  std::vector<std::string> names;  // ways of the same name need about the same power in all problems
  // The mean over about `ms` of back-to-back runs, at least one, after about `settle` ms of the same.
  std::function<Sample(int way, double settle, double ms)> measure;
  bool hot = true;  // whether power matters; if not, the fewest cycles win
  // The tiles of the guessed ways, which come last. `agrees`: whether a way has the same result as the suggested ones.
  std::vector<int> guessed_tiles = {};
  std::function<bool(int way)> agrees = {};
};

struct Fastest {
  int way = -1;   // -1: none can run
  double ms = 0;  // expected on a busy GPU
};

Fastest fastest(const Ways& ways, SustainedClocks& clocks);

}  // namespace megalith::cuda
