// Runs a planned step on one GPU: one arena from one allocation, kernels prepared once, each program captured into CUDA
// graphs (one for a step's first micro-batch, one for the others) and replayed.
#pragma once
#include <functional>
#include <memory>
#include <vector>

#include "exec/cuda/kernel.h"
#include "plan/plan.h"

namespace megalith::cuda {

// Bytes that a node's kernel asks for beside its buffers; for plan_memory().
i64 workspace_bytes(Device& device, const Graph& g, const Node& n);

class Executor {
 public:
  // Allocates the arena, chooses algorithms, zeroes the arena. Error if the memory can't be had.
  Executor(const Plan& plan, const Coord& coord, Device& device);
  ~Executor();
  Executor(const Executor&) = delete;
  Executor& operator=(const Executor&) = delete;

  // Enqueues a program on the device's stream. `first`: of a step's micro-batches.
  void run(int program, bool first, int slot = 0);

  // Off: programs are enqueued kernel by kernel, so that profilers see the ranges.
  void set_graphs(bool on) { graphs_ = on; }
  // Of the runs since the last call, by events around each; waits. Counted from the first call on.
  double busy_seconds();
  // Runs a program and times each instruction by events. Another run goes before it, so that the host, which takes
  // longer for a kernel by itself than a small one runs, is ahead.
  std::vector<double> time_instructions(int program);

  std::byte* leaf(const Leaf& leaf) { return arena_ + leaf.offset; }
  std::byte* buffer(int program, int buffer) { return arena_ + plan_.programs[program].buffers[buffer].offset; }
  const Plan& plan() const { return plan_; }
  const Coord& coord() const { return coord_; }
  Device& device() { return device_; }

 private:
  struct Destroy {
    void operator()(cudaEvent_t e) const { cudaEventDestroy(e); }
  };
  using Event = std::unique_ptr<std::remove_pointer_t<cudaEvent_t>, Destroy>;
  Event mark();  // in the stream
  struct Step {
    std::vector<std::byte*> ins, outs;
    std::byte* workspace = nullptr;
    Kernel kernel;
  };
  struct Captured {
    std::vector<Step> steps;
    cudaGraphExec_t graphs[2] = {};  // by `first`
  };
  Args args(const Step& step, bool first);
  void enqueue(int program, bool first, const std::function<void()>& behind_each = {});
  void launch(int program, bool first);
  void capture(int program, bool first);

  const Plan& plan_;
  Coord coord_;
  Device& device_;
  std::byte* arena_ = nullptr;
  std::vector<Captured> programs_;
  bool graphs_ = true, timed_ = false;
  std::vector<Event> marks_;  // before and behind each run, while they are timed
};

}  // namespace megalith::cuda
