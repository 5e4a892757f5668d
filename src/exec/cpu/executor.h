// Runs a planned step on the CPU: one rank's arena, its prepared kernels, and the programs' instructions in order.
#pragma once
#include <memory>
#include <vector>

#include "exec/cpu/kernel.h"
#include "plan/lanes.h"
#include "plan/run_watch.h"

namespace megalith::cpu {

// Bytes of workspace that a node's kernel needs, for plan_memory().
i64 workspace_bytes(const Graph& g, const Node& n);

class Executor {
 public:
  // Allocates the zeroed arena and prepares every kernel. Error if the allocation fails. `ranks`: the plan's ranks by
  // their mesh numbers. It may be null if the plan has one rank.
  explicit Executor(const Plan& plan, const Coord& coord = {}, Ranks* ranks = nullptr);
  Executor(const Executor&) = delete;
  Executor& operator=(const Executor&) = delete;

  // Runs a program. `first`: it is the first micro-batch of a step. `slot`: the copy to use of leaves with several
  // copies.
  void run(int program, bool first = false, int slot = 0);
  void run_instruction(int program, int instruction, bool first, int slot = 0);
  void watch(RunWatch* watch) { watch_ = watch; }  // watches later runs; nullptr: none
  int program_index(const std::string& name) const;
  double seconds_with_others() const { return with_others_; }  // time of transfers in all runs, with waits
  void tell_reductions(std::function<void(double seconds)> told) { told_ = std::move(told); }  // as in Interpreter

  std::byte* leaf(const std::string& name);  // a leaf's memory
  std::byte* buffer(int program, int buffer);
  const double* output_f64(int program, const std::string& name);  // result of the last run
  const Plan& plan() const { return plan_; }
  const Coord& coord() const { return coord_; }

 private:
  struct Step {
    std::vector<std::byte*> ins, outs;
    std::vector<i64> in_strides, out_strides;  // bytes from slot to slot; 0: one slot
    std::byte* workspace = nullptr;
    Kernel kernel;
    InstructionPlace begun_by;  // for a Wait: the step that began its relayout
    bool with_others = false;   // is a transfer or a part of one
    bool reduces = false;       // reduces over data- and context-parallel ranks
    double spent = 0;           // seconds so far in a transfer that has not ended
    bool first_only = false;    // runs only in a step's first micro-batch
  };

  const Plan& plan_;
  Coord coord_;
  // Leaves on the host have a separate arena, although both arenas are host memory.
  std::byte* at(const Buffer& b) const { return (plan_.on_host(b) ? host_ : arena_).get() + b.offset; }

  struct Unmap {
    size_t bytes;
    void operator()(std::byte* p) const;
  };
  using Reserved = std::unique_ptr<std::byte, Unmap>;
  static Reserved reserve(i64 bytes);  // null if the allocation fails
  Reserved arena_, host_;
  std::vector<std::vector<Step>> programs_;
  double with_others_ = 0;
  RunWatch* watch_ = nullptr;
  std::function<void(double)> told_;
};

}  // namespace megalith::cpu
