// Finds the first result on this rank with a NaN or infinity, while a step runs again.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "plan/micro_batch_count.h"
#include "plan/run_watch.h"
#include "step/step.h"

namespace megalith {

struct NonFinite {
  // The position in the step. The smallest position over all ranks is the first.
  struct When {
    i64 micro_batch = 0, backward = 0, stage = 0, instruction = 0;
    auto operator<=>(const When&) const = default;
  } when;
  std::string tensor;  // plan/tensor_names.h
  std::string op;
  std::string phase;
  std::string module;
  std::string stack;
  i64 layer = -1;               // of none
  std::string parameter;        // that the instruction reads; "": none
  i64 count = 0, elements = 0;  // not finite, of this rank's
  i64 position = -1, row = -1;  // of the first of them, in the sequence and in the micro-batch; -1: not known
};

class FirstNonFinite final : public RunWatch {
 public:
  FirstNonFinite(const PlannedStep& step, const Coord& coord);
  // Before the runs: a non-finite weight is the first.
  void look_at_weights(Interpreter& interpreter);
  void run_begins(int program, bool first, int slot) override;
  void after(int program, int instruction, const InstructionMemory& memory) override;
  const std::optional<NonFinite>& found() const { return found_; }

 private:
  i64 elements_there(const Program& program, int instruction, size_t out, const InstructionMemory& memory) const;
  const Type* tokens() const;
  void describe(const Program& program, int instruction, const Type& type, i64 at);
  void set_stage(const Program& program, NonFinite::When& when) const;

  const PlannedStep& step_;
  const Plan& plan_;
  Coord coord_;
  MicroBatchCount count_;
  i64 micro_batch_ = 0;
  std::vector<std::vector<bool>> rows_;  // by program and buffer: rows of experts, some never written
  std::optional<NonFinite> found_;
};

}  // namespace megalith
