// --log-straggler: finds slow ranks. Ranks that work together all take as long as the slowest. So it compares each
// rank's own time: its programs without transfers and waits.
#pragma once
#include <span>
#include <string>
#include <vector>

#include "comm/ranks.h"
#include "step/step.h"

namespace megalith {

struct OwnWork {
  int rank = 0;
  std::string host;
  double seconds = 0, flops = 0;  // of one iteration; flops: all of the plan, including the optimizer
  double tflops() const { return seconds > 0 ? flops / seconds / 1e12 : 0; }
};

// One line without newline: the `count` slowest and fastest ranks, the median time, and the `count` ranks with the
// lowest and highest TFLOP/s. (If pipeline stages have different amounts of work, compare the latter.)
std::string straggler_line(std::vector<OwnWork> ranks, int count);

class Straggler {
 public:
  // `count`: number of ranks to name at either end.
  Straggler(const PlannedStep& step, i64 micro_batches, Interpreter& interpreter, Ranks& ranks, int count);

  void step() { ++steps_; }  // called after each iteration
  // Brackets work that is not training, such as evaluation and saving. No step may be running.
  void pause() { seconds_ += interpreter_.own_seconds(); }
  void resume() { interpreter_.own_seconds(); }
  // Collective: the line for the iterations since the last one. Devices continue meanwhile.
  std::string report();
  std::span<const OwnWork> last() const { return last_; }  // input of the last line

 private:
  Interpreter& interpreter_;
  Ranks& ranks_;
  int count_;
  double flops_, seconds_ = 0;
  i64 steps_ = 0;
  std::vector<OwnWork> last_;
};

}  // namespace megalith
