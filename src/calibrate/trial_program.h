// Graphs of a few relayouts and kernels to be timed.
#pragma once
#include "calibrate/link_trial.h"
#include "mesh/relayout.h"
#include "plan/plan.h"

namespace megalith {

// A mesh of all ranks whose neighbours are groups of so many: the axes groups::kv_heads.
Mesh mesh_of_groups(int ranks, int group);

struct Moved {
  Transfer transfer = Transfer::none;
  i64 bytes = 0;  // of the whole message, as nccl-tests counts it
  int lane = 0;
  int times = 1;
};
enum class Kernel { product, attention, memory };

// `rounds` times: the transfers are begun, the kernels follow, then come the waits. Transfers in line follow one
// another. Programs of a run overlap in rounds too: a transfer, the work beside it, the wait.
Graph trial_graph(const Mesh& mesh, const Moved& moved, Kernel kernel, int kernels, const LinkTrialSizes& sizes,
                  int rounds = 1);

// Programs of such graphs on a backend.
class Trial {
 public:
  Trial(const Backend& backend, Ranks& ranks, const Mesh& mesh, const std::vector<Graph>& graphs);
  // Of one run of each program, in turns, the median of so many, on the slowest rank.
  std::vector<double> seconds(int looks, int warm);

 private:
  Ranks& ranks_;
  Plan plan_;
  std::unique_ptr<Interpreter> interpreter_;
};

}  // namespace megalith
