// The progress line of a training run on a terminal: steps, a bar, the loss, tokens/s, time left. Absent if stderr is
// not a terminal. base/log.h prints log lines above it.
#pragma once
#include <functional>
#include <string>

#include "base/clock.h"
#include "observe/record.h"

namespace megalith {

struct ProgressState {
  i64 step = 0;
  i64 total = 0;
  double loss = 0;
  double tokens_per_second = 0;
  double seconds_left = 0;
};

// At most `columns` wide. If it is too long, items are dropped from the right, but the bar first.
std::string progress_line(const ProgressState& state, int columns);

std::string duration(double seconds);  // "0:07", "12:34", "1:02:03", "3d 04:05"; "?" for NaN

class Progress final : public Sink {
 public:
  // For steps first + 1 .. total.
  Progress(i64 first, i64 total, std::function<double()> now = steady_seconds);
  ~Progress() override { finish(); }
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  // Called after a step. `tokens`: of the step, on all devices. Draws at most ten times a second, and always after
  // the last step.
  void update(i64 step, double loss, i64 tokens);
  void take(const Record& r) override { update(r.iteration, r.loss, r.tokens); }
  void finish() override;  // erases the line
  ProgressState state() const { return state_; }

 private:
  std::function<double()> now_;
  i64 first_;
  double started_;
  double last_update_;
  double last_draw_;
  ProgressState state_;
};

}  // namespace megalith
