// Which of several ways to compute the same thing is the fastest on a GPU that is hot. A large bf16 product draws more
// power than an H200 may, so a few tens of milliseconds into a series of them the clock falls (1980 to 1300 MHz seen)
// to where the power limit holds: then the way that takes the least energy wins, which need not be the one that takes
// the fewest cycles. So ways are first compared in turn at a common clock, to throw out the slow ones, and the others
// then in long runs, each at the clock that it can hold.
#pragma once
#include <functional>

#include "base/dtype.h"

namespace megalith::cuda {

struct Fastest {
  int way = -1;  // -1: none can run
  double ms = 0;
};

struct Ways {
  int count = 0;
  // The time of one run of a way, as the mean over about `ms` of back-to-back runs (one at least) after about `settle`
  // ms of them; infinity if it can't run.
  std::function<double(int way, double settle, double ms)> time;
  bool long_runs = true;  // worth them: the GPU is kept busy enough to get hot
};

Fastest fastest(const Ways& ways);

}  // namespace megalith::cuda
