// Compares the planned peak memory of a step's phases with the memory that a run touches.
#include "step/phase_memory.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "exec/cpu/backend.h"
#include "passes/gradients.h"
#include "plan/run_watch.h"
#include "settings/schedules.h"
#include "small_run.h"
#include "step/model_state.h"

namespace megalith {
namespace {

// Measures the bytes of the arena in use by the addresses that instructions get. A result is in use from its write to
// its last read.
class Touched final : public RunWatch {
 public:
  Touched(const Plan& plan, const std::byte* arena) : plan_(plan), arena_(arena) {}

  void run_begins(int, bool, int) override { lives_.clear(), now_.clear(); }
  void after(int program, int i, const InstructionMemory& memory) override {
    const Program& p = plan_.programs[size_t(program)];
    const Instruction& in = p.instructions[size_t(i)];
    for (size_t k = 0; k < in.ins.size(); ++k)
      if (const auto it = now_.find(memory.ins[k]); it != now_.end()) lives_[it->second].last = i;
    for (size_t k = 0; k < in.outs.size(); ++k) {
      const i64 at = memory.outs[k] - arena_, bytes = align_up(p.buffers[size_t(in.outs[k])].bytes);
      if (at < plan_.leaf_bytes) continue;
      const bool in_place = std::ranges::find(memory.ins, memory.outs[k]) != memory.ins.end();
      if (!in_place) now_[memory.outs[k]] = lives_.size(), lives_.push_back({at, at + bytes, i, i});
      Life& life = lives_[now_.at(memory.outs[k])];
      life.end = std::max(life.end, at + bytes), life.last = i;
    }
    if (in.workspace_bytes > 0 && in.workspace >= plan_.leaf_bytes)
      lives_.push_back({in.workspace, in.workspace + in.workspace_bytes, i, i});
  }
  void run_ends(int program) override {
    const Program& p = plan_.programs[size_t(program)];
    const int n = int(p.instructions.size());
    for (const auto& [name, b] : p.outputs)
      if (const auto it = now_.find(const_cast<std::byte*>(arena_) + p.buffers[size_t(b)].offset); it != now_.end())
        lives_[it->second].last = n;
    for (int i = 0; i < n; ++i) {
      const Phase phase = p.instructions[size_t(i)].phase;
      i64& most = phase == Phase::forward ? peaks.forward : phase == Phase::update ? peaks.update : peaks.backward;
      most = std::max(most, plan_.leaf_bytes + bytes_at(i));
    }
  }

  PhaseMemory peaks;

 private:
  struct Life {
    i64 begin, end;
    int first, last;
  };
  i64 bytes_at(int i) const {
    std::vector<char> taken(size_t((plan_.arena_bytes - plan_.leaf_bytes) / kAlignment));
    for (const Life& l : lives_)
      if (l.first <= i && i <= l.last)
        std::fill(taken.begin() + (l.begin - plan_.leaf_bytes) / kAlignment,
                  taken.begin() + (l.end - plan_.leaf_bytes) / kAlignment, 1);
    return std::ranges::count(taken, 1) * kAlignment;
  }

  const Plan& plan_;
  const std::byte* arena_;
  std::vector<Life> lives_;
  std::map<std::byte*, size_t> now_;  // in use at this moment
};

TEST(PhaseMemory, IsWhatRunsTouch) {
  for (const char* flags :
       {"", "--bf16", "--recompute-granularity full --recompute-method uniform --recompute-num-layers 1",
        "--log-params-norm --log-num-zeros-in-grad"}) {
    const auto backend = make_cpu_backend();
    const PlannedStep step = plan_step(step_spec(options_for(1, flags)), *backend);
    const auto device = backend->make_interpreter(step.plan, Coord{});
    ModelState model(step, *device);
    model.initialise(3);
    Touched touched(step.plan, device->host_view(step.plan.leaves[0]) - step.plan.leaves[0].offset);
    device->watch(&touched);
    device->run(step.plan.index_of("micro-batch"), true);
    device->run(step.plan.index_of("last-micro-batch"), false);
    const PhaseMemory plan = phase_memory(step.plan);
    EXPECT_EQ(plan.forward, touched.peaks.forward) << flags;
    EXPECT_EQ(plan.backward, touched.peaks.backward) << flags;
    EXPECT_EQ(plan.update, touched.peaks.update) << flags;
    EXPECT_GT(plan.forward, step.plan.leaf_bytes);
    EXPECT_LE(std::max({plan.forward, plan.backward, plan.update}), step.plan.arena_bytes);
    EXPECT_LT(plan.update, plan.backward);
  }
}

}  // namespace
}  // namespace megalith
