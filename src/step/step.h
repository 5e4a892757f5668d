// From a model's numbers to the planned step: graph, backward, accumulation, update, passes, memory.
#pragma once
#include <list>
#include <optional>
#include <set>

#include "models/gpt.h"
#include "optim/update.h"
#include "passes/recompute.h"
#include "plan/interpreter.h"
#include "step/pipeline_step.h"

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
  Traffic traffic;
  PipelineSpec pipeline;
  bool copies_state = false;         // for saves beside the training
  std::set<std::string> passes_off;  // beside the backend's own
};

// Programs "micro-batch" and "last-micro-batch", which updates too (train), and "evaluate" (evaluate).
struct PlannedStep {
  std::vector<Parameter> parameters;
  std::vector<Pool> pools;  // of a cut optimizer; its weights start by programs "take main" and "spread weights"
  Graph train, evaluate;
  std::optional<PipelineStage> pipeline;  // then the programs are those of plan_stage(), and the graphs:
  std::vector<Graph> pieces;
  std::vector<PassReport> passes;  // of a training step; evaluation's too in a pipeline, or where there is no training
  Plan plan;
  i64 unrecomputed_bytes = 0;  // activations of a training program if nothing were done again; 0: nothing is
};
// The pass remake costs time, and is left out where memory suffices without, for what a run takes beside its plan too:
// it changes no result. (Several ranks must agree on a plan whatever memory each has, so there it stays.)
PlannedStep plan_step(const StepSpec& spec, const Backend& backend);

// How often a program of the plan runs in a training step; how often an instruction of it is carried out.
double runs_a_step(const Plan& plan, const std::string& program, i64 micro_batches);
double runs_a_step(const Plan& plan, const std::string& program, const Instruction& in, i64 micro_batches);

// For plan_stage(): a cut optimizer's pools, how its weights start (`graphs` keeps what the programs are of), and what
// a backend's kernels need beside their buffers.
std::vector<Pool> pools_of(const StepSpec& spec, const std::vector<Parameter>& parameters);
void add_state_programs(std::vector<ProgramSpec>& programs, std::list<Graph>& graphs, const PlannedStep& step,
                        const StepSpec& spec, const std::set<std::string>& passes_off);
std::function<i64(const Graph&, const Node&)> workspace_of(const Backend& backend);

}  // namespace megalith
