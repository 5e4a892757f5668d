// The time of a rank's phases, under Megatron's names. A clock is read after each instruction, or a device reads its
// own clock where the phase changes. Time between two programs counts as the phase that the rank waits for: data, or
// a message from another pipeline stage.
#pragma once
#include <vector>

#include "base/named_value.h"
#include "plan/plan.h"
#include "plan/run_watch.h"
#include "plan/time_tags.h"

namespace megalith {

class PhaseTimes final : public RunWatch {
 public:
  // Level 1: the phases of an iteration, which sum to its time. Level 2: also their parts.
  PhaseTimes(const Plan& plan, int level);
  void step_begins();
  void step_ends() { is_on_ = false; }
  void run_begins(int program, bool first, int slot) override;
  void after(int program, int instruction, const InstructionMemory& memory) override;
  // For a device that measures itself: the phase of each instruction, and the times so far.
  TimeTags tags() const;
  void hear(const TagSeconds& told);
  // Seconds per iteration since the last call: first "interval-time", which is all of it, then the phases.
  std::vector<NamedValue> take();

 private:
  enum Phase1 : int { kForwardBackward, kGradients, kEmbedding, kGather, kOptimizer, kPhases };
  enum Part : int { kForward, kBackward, kBatch, kForwardRecv, kBackwardRecv, kClip, kUnscale, kInner, kCopy, kNone };
  struct Tag {
    Phase1 phase;
    Part part;
  };
  static Tag tag_of(const Program& program, const Instruction& in);
  Tag tag_before(const Program& program) const;
  int number_of(const Tag& tag) const;
  void add(const Tag& tag);

  const Plan& plan_;
  int level_;
  std::vector<std::vector<Tag>> tags_;  // by program and instruction
  std::vector<double> phases_, parts_;
  double last_ = 0, since_ = 0;  // by steady_seconds()
  i64 steps_ = 0;
  TagSeconds told_;     // measured by a device so far
  bool is_on_ = false;  // a training step runs, not an evaluation
};

}  // namespace megalith
