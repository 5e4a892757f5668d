// --log-straggler: which ranks are slow by themselves. Ranks that work together all take as long as the slowest of
// them, so what is compared is each rank's own time: its programs without transfers and without waiting for others.
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
  double seconds = 0, flops = 0;  // of one iteration; flops: all that the plan computes, the optimizer included
  double tflops() const { return seconds > 0 ? flops / seconds / 1e12 : 0; }
};

// One line, no newline: the `count` slowest and fastest ranks, the median time, and the `count` ranks of the least and
// the most TFLOP/s. (Where pipeline stages have different shares of the work, the last two tell more.)
std::string straggler_line(std::vector<OwnWork> ranks, int count);

class Straggler {
 public:
  // `count`: ranks to name at either end.
  Straggler(const PlannedStep& step, i64 micro_batches, Interpreter& interpreter, Ranks& ranks, int count);

  void step() { ++steps_; }  // after each iteration
  // Encloses work that is not training: evaluation, saving. No step may be running.
  void pause() { seconds_ += interpreter_.own_seconds(); }
  void resume() { interpreter_.own_seconds(); }
  // The line of the iterations since the last one. All ranks must call it at the same iteration; devices go on
  // meanwhile.
  std::string report();
  std::span<const OwnWork> last() const { return last_; }  // what the last line was made of

 private:
  Interpreter& interpreter_;
  Ranks& ranks_;
  int count_;
  double flops_, seconds_ = 0;
  i64 steps_ = 0;
  std::vector<OwnWork> last_;
};

}  // namespace megalith
