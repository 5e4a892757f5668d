// Small graphs of relayouts and kernels, to be timed.
#pragma once
#include "calibrate/link_trial.h"
#include "mesh/relayout.h"
#include "plan/plan.h"

namespace megalith {

// A mesh of all ranks. Groups of `group` adjacent ranks are along groups::kv_heads.
Mesh mesh_of_groups(int ranks, int group);

struct Moved {
  Transfer transfer = Transfer::none;
  i64 bytes = 0;  // of the whole message, as in nccl-tests
  int lane = 0;
  int times = 1;
};
enum class Kernel { product, attention, memory };

// In each of `rounds`: starts the transfers, runs the kernels, then waits. In-line transfers run one after another.
// Real programs overlap in the same way.
Graph trial_graph(const Mesh& mesh, const Moved& moved, Kernel kernel, int kernels, const LinkTrialSizes& sizes,
                  int rounds = 1);

// Runs these graphs on a backend.
class Trial {
 public:
  Trial(const Backend& backend, Ranks& ranks, const Mesh& mesh, const std::vector<Graph>& graphs);
  // Seconds of one run of each program, in turns: the typical one of `looks`, on the slowest rank.
  std::vector<double> seconds(int looks, int warm);

 private:
  Ranks& ranks_;
  bool gpu_;
  Plan plan_;
  std::unique_ptr<Interpreter> interpreter_;
};

}  // namespace megalith
