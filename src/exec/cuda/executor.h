// Runs a planned step on one GPU: one arena from one allocation, kernels prepared once, each program captured into
// CUDA graphs and replayed. There is a graph for a step's first micro-batch and one for the others, and for each
// slot. A lane has its own stream. A graph ends where a lane's work begins or is waited for. Leaves on the host are
// in pinned memory, which kernels can also access.
#pragma once
#include <functional>
#include <map>
#include <memory>
#include <tuple>
#include <vector>

#include "exec/cuda/device_memory.h"
#include "exec/cuda/kernel.h"
#include "exec/cuda/own_clock.h"
#include "exec/cuda/peers.h"
#include "exec/cuda/pinned.h"
#include "exec/cuda/reduction_clock.h"
#include "exec/cuda/streams.h"
#include "exec/cuda/tag_clock.h"
#include "plan/lanes.h"

namespace megalith::cuda {

// Bytes of workspace that a node's kernel needs, for plan_memory().
i64 workspace_bytes(Device& device, const Graph& g, const Node& n);

class Executor {
 public:
  // Prepares kernels, and allocates memory unless it `is_deferred`. `peers`: null without other ranks. The
  // communicators that the plan needs must exist. All ranks construct their executors at the same time.
  Executor(const Plan& plan, const Coord& coord, Device& device, const Peers* peers = nullptr,
           bool is_deferred = false);
  ~Executor();
  Executor(const Executor&) = delete;
  Executor& operator=(const Executor&) = delete;

  // Allocates the arena, chooses algorithms, zeroes the arena. Error if allocation fails. All ranks call it once, at
  // the same time, before the functions below.
  void take_memory();
  bool has_memory() const { return arena_ != nullptr; }

  // Enqueues a program on the device's stream. `first`: the first micro-batch of a step. `slot`: the copy of leaves
  // that have several.
  void run(int program, bool first, int slot = 0);
  // The same for a program that updates(), with an operation queued before its first updating instruction. It runs
  // kernel by kernel, because no graph ends there.
  void run(int program, bool first, int slot, const std::function<void()>& before_update);
  bool updates(int program) const;  // whether it writes parameters or the optimizer's state
  // Creates the graphs of such a run. Otherwise the first run creates them, and the driver may then wait until the GPU
  // is idle. If the GPU waits for a rank that waits for this one in the same way, that never ends.
  void make_ready(int program, bool first, int slot);

  // Off: programs are enqueued kernel by kernel, so that profilers see the ranges.
  void set_graphs(bool on) { graphs_ = on; }
  // Seconds of the runs since the last call, by events around each; waits. Counts from the first call on.
  double busy_seconds();
  // As in Interpreter; always 0 without peers.
  double own_seconds();
  // As in Interpreter.
  void time_by_tags(TimeTags tags);
  void tell_reductions(std::function<void(double seconds)> told);
  void skip_time();
  TagSeconds tag_seconds() const { return tag_clock_ ? tag_clock_->seconds() : TagSeconds{}; }
  // Runs a program and times each instruction by events. An untimed run goes first, so that the host is ahead: its
  // launch of a small kernel takes longer than the kernel. A lane's work counts at its Wait.
  std::vector<double> time_instructions(int program);

  std::byte* arena() { return arena_.get(); }
  std::byte* leaf(const Leaf& leaf, int slot = 0) {
    return (leaf.host ? host_.get() : arena_.get()) + leaf.offset + slot * leaf.stride();
  }
  std::byte* buffer(int program, int buffer) { return at(plan_.programs[program].buffers[buffer]); }
  const Plan& plan() const { return plan_; }
  const Coord& coord() const { return coord_; }
  Device& device() { return device_; }

 private:
  std::byte* at(const Buffer& b) { return (plan_.on_host(b) ? host_.get() : arena_.get()) + b.offset; }
  Event mark();  // records in the stream
  struct Step {
    std::vector<std::byte*> ins, outs;
    std::vector<i64> in_strides, out_strides;  // bytes from slot to slot; 0: there is only one
    std::byte* workspace = nullptr;
    Kernel kernel;
    int transfer = 0;           // number in the watch; 0: none
    int lane = 0;               // 0: in line
    Lane* beside = nullptr;     // on which the op overlaps a transfer with its own work
    Event done = {};            // when a lane's work is done
    InstructionPlace begun_by;  // for a Wait: the step that it ends
    bool reduces = false;       // over data- and context-parallel ranks
    bool first_only = false;    // only in a step's first micro-batch; the graph of the others lacks it
  };
  struct Captured {
    std::vector<Step> steps;
    size_t update = 0;                                                // the first step that updates, or the end
    std::map<std::tuple<bool, int, size_t>, cudaGraphExec_t> graphs;  // by `first`, slot and first step
  };
  Step make_step(const Program& p, const Instruction& in);
  void prepare(const Program& p);
  void place_steps();
  void tune_all();
  void tune_alike();
  void find_waits();
  Step& step_at(InstructionPlace o) { return programs_[size_t(o.program)].steps[size_t(o.instruction)]; }
  void enqueue(const Step& step, bool first, int slot);
  void enqueue_timed(int program, size_t step, bool first, int slot);
  void drop_graphs();
  void remake_graphs(const std::function<void()>& change);
  void mark_own(Moment moment);  // in the compute stream
  void run_kernel(const Step& step, bool first, int slot, cudaStream_t stream);
  struct Stretch {  // steps [begin, end) of a program
    size_t begin, end;
  };
  Stretch whole(int program) const { return {0, programs_[size_t(program)].steps.size()}; }
  void enqueue(int program, Stretch steps, bool first, int slot, const std::function<void()>& behind_each = {});
  void launch(int program, bool first, int slot);
  void run_by(int program, const std::function<void()>& queue);
  using EachStretch = std::function<void(Stretch)>;
  using EachStep = std::function<void(size_t step)>;
  void walk(int program, bool first, const EachStretch& in_graph, const EachStep& between);
  cudaGraphExec_t graph(int program, Stretch steps, bool first, int slot);
  cudaGraphExec_t capture(int program, Stretch steps, bool first, int slot);

  const Plan& plan_;
  Coord coord_;
  Device& device_;
  const Peers* peers_;
  DeviceMemory arena_;
  Pinned host_;
  std::map<int, Lane> lanes_;
  std::vector<Captured> programs_;
  std::vector<std::string> doing_;  // by program, for the other ranks' errors
  bool graphs_ = true, timed_ = false;
  std::vector<Event> marks_;             // before and after each run, while runs are timed
  std::unique_ptr<OwnClock> own_clock_;  // exists once it is requested
  std::unique_ptr<TagClock> tag_clock_;  // exists once it is requested
  std::unique_ptr<ReductionClock> reductions_;
};

}  // namespace megalith::cuda
