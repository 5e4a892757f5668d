// Watches an interpreter's runs, instruction by instruction. It may read results, change them, and measure time.
#pragma once
#include <cstddef>
#include <span>
#include <vector>

namespace megalith {

// The memory of an instruction's inputs and results on this rank.
struct InstructionMemory {
  std::span<std::byte*const> ins, outs;
};

class RunWatch {
 public:
  virtual ~RunWatch() = default;
  virtual void run_begins(int /*program*/, bool /*first*/, int /*slot*/) {}
  virtual void before(int /*program*/, int /*instruction*/) {}
  // The result of a relayout on a lane exists after its Wait, which has the same memory.
  virtual void after(int /*program*/, int /*instruction*/, const InstructionMemory& /*memory*/) {}
  virtual void run_ends(int /*program*/) {}
  virtual void step_repeats() {}  // the next runs repeat those of the last step
};

// Several watches, called one after another.
class RunWatches final : public RunWatch {
 public:
  void add(RunWatch* watch) { all_.push_back(watch); }
  void remove(RunWatch* watch) { std::erase(all_, watch); }
  bool empty() const { return all_.empty(); }

  void run_begins(int program, bool first, int slot) override {
    for (RunWatch* w : all_) w->run_begins(program, first, slot);
  }
  void before(int program, int instruction) override {
    for (RunWatch* w : all_) w->before(program, instruction);
  }
  void after(int program, int instruction, const InstructionMemory& memory) override {
    for (RunWatch* w : all_) w->after(program, instruction, memory);
  }
  void run_ends(int program) override {
    for (RunWatch* w : all_) w->run_ends(program);
  }
  void step_repeats() override {
    for (RunWatch* w : all_) w->step_repeats();
  }

 private:
  std::vector<RunWatch*> all_;
};

}  // namespace megalith
