// Which of several ways to compute the same thing is the fastest on a GPU that is busy. A large bf16 product draws more
// power than an H200 may: some 60 ms into a series of them the clock falls to where the power limit holds (from 1980 to
// 1200..1370 MHz). A way's time is then its cycles over the clock that it can sustain. Cycles are measured exactly in a
// run or two. Sustained clocks take 130 ms of runs and come out within 1.5%. They belong to the way alone (its tiles,
// its operands' orientation), hardly to the sizes: they are measured for few problems and shared by all.
//
// That is not exact enough to tell ways apart that are within 1 or 2% of each other. The clock also drifts with the
// GPU's temperature. So the best few of a problem are then run in turns, and their times are compared.
//
// Besides ways that somebody suggests there may be guessed ones, of several tiles. A long look at one costs more than
// it mostly gains: only the best of each of the best two tiles gets one. It must take clearly fewer cycles than all
// suggested ways, and give what they give.
#pragma once
#include <functional>
#include <limits>
#include <map>
#include <string>
#include <vector>

#include "base/dtype.h"

namespace megalith::cuda {

struct Sample {
  double cycles = std::numeric_limits<double>::infinity();  // of one run; infinity: it can't run
  double mhz = 0;                                           // the mean clock meanwhile
};

// What ways' names, for all problems, were seen to sustain.
struct SustainedClock {
  double mhz = 0;  // the mean of the samples
  int samples = 0;
};
using SustainedClocks = std::map<std::string, SustainedClock>;

struct Ways {
  std::vector<std::string> names;  // ways of one name take about the same power, whatever the problem
  // The mean over about `ms` of back-to-back runs (one at least), after about `settle` ms of them.
  std::function<Sample(int way, double settle, double ms)> measure;
  bool hot = true;  // whether power matters: else the fewest cycles win
  // The last so many ways are guessed ones: their tiles. `agrees`: whether one computes what the suggested ones do.
  std::vector<int> guessed_tiles = {};
  std::function<bool(int way)> agrees = {};
};

struct Fastest {
  int way = -1;   // -1: none can run
  double ms = 0;  // as expected of a busy GPU
};

Fastest fastest(const Ways& ways, SustainedClocks& clocks);

}  // namespace megalith::cuda
