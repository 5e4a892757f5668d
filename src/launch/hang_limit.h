// How long a run may be without progress before it counts as hung: five times the longest gap of the last 32 steps.
// But it is at least 2 s, and at least the time of the last start: a restart must not end a shorter pause. Gaps of
// evaluations, saves and starts are learned apart, and count at least 10 s: disks vary. A start may load from another
// disk than those before. So after a start that was too long the next one has no limit.
#pragma once
#include <array>
#include <deque>
#include <optional>

#include "launch/messages.h"

namespace megalith::launch {

class HangLimit {
 public:
  void begin(double now);                                 // a generation
  void progressed(bool is_step, Phase next, double now);  // `is_step`: an iteration is complete
  void exceeded() { is_start_unknown_ = !has_stepped_; }  // the generation is ended
  // Empty if nothing is known about what the run does now.
  std::optional<double> seconds() const;
  double since() const { return moved_; }  // the last progress

 private:
  struct Gaps {
    double longest = 0;         // of the current step, evaluation or save
    std::deque<double> last{};  // of the previous ones
    void end();
    std::optional<double> limit(double least) const;
  };
  std::array<Gaps, 3> gaps_;  // by phase
  Phase phase_ = Phase::training;
  double began_ = 0, moved_ = 0, last_start_ = 0, longest_start_ = 0;
  bool has_stepped_ = false;       // in this generation
  bool is_start_unknown_ = false;  // until a step
};

}  // namespace megalith::launch
