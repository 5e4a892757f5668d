// From a model's numbers to the planned step: graph, backward, accumulation, update, passes, memory.
#pragma once
#include <set>

#include "models/gpt.h"
#include "optim/update.h"
#include "passes/recompute.h"
#include "plan/interpreter.h"

namespace megalith {

struct StepSpec {
  Mesh mesh;
  ModelConfig model;  // resolved
  OptimizerConfig optimizer;
  GptShape shape;  // of a training micro-batch
  ParallelStyle style{.pack_qkv = true};
  bool evaluate = false;     // plan an evaluation program too, for micro-batches of the same size
  bool train = true;         // false: only the evaluation program
  bool keep_logits = false;  // the evaluation's logits are an output
  RecomputeConfig recompute;
  bool shard_optimizer = false;  // over the data-parallel ranks
  i64 pool_size = 0;             // then; 0: by Megatron's rule
  Overlap overlap;
  std::set<std::string> passes_off;  // beside the backend's own
};

// Programs "micro-batch" and "last-micro-batch", which updates too (train), and "evaluate" (evaluate).
struct PlannedStep {
  std::vector<Parameter> parameters;
  std::vector<Pool> pools;  // of a cut optimizer; its state moves by programs "take NAME" and "give NAME"
  Graph train, evaluate;
  std::vector<PassReport> passes;
  Plan plan;
  i64 unrecomputed_bytes = 0;  // activations of a training program if nothing were done again; 0: nothing is
};
PlannedStep plan_step(const StepSpec& spec, const Backend& backend);

}  // namespace megalith
