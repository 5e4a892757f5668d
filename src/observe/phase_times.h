// The time of a rank's phases, by Megatron's names. A clock is read after each instruction, or a device reads its own
// clock where the phase changes. Time between two runs of programs counts to what is waited for: data, or a message
// from a pipeline neighbour.
#pragma once
#include <vector>

#include "base/named_value.h"
#include "plan/plan.h"
#include "plan/run_watch.h"
#include "plan/time_tags.h"

namespace megalith {

class PhaseTimes final : public RunWatch {
 public:
  // Level 1: the phases of an iteration, whose sum it is. 2: their parts too.
  PhaseTimes(const Plan& plan, int level);
  void step_begins();
  void step_ends() { is_on_ = false; }
  void run_begins(int program, bool first, int slot) override;
  void after(int program, int instruction, const InstructionMemory& memory) override;
  // For a device that times itself: what its instructions count to, and what it told so far.
  TimeTags tags() const;
  void hear(const TagSeconds& told);
  // Seconds of an iteration since the last call: first all of it, which is "interval-time", then the phases.
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
  TagSeconds told_;     // so far, by a device
  bool is_on_ = false;  // a step is running: an evaluation is none
};

}  // namespace megalith
