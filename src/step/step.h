// From a model to the planned step: graph, backward, accumulation, update, passes, memory.
#pragma once
#include <list>
#include <memory>
#include <optional>
#include <set>

#include "models/model.h"
#include "optim/norms.h"
#include "optim/update.h"
#include "passes/offload_activations.h"
#include "passes/quantize.h"
#include "passes/recompute.h"
#include "passes/tally.h"
#include "plan/interpreter.h"
#include "step/stages.h"

namespace megalith {

struct StepSpec {
  Mesh mesh;
  std::shared_ptr<const Model> model;
  OptimizerConfig optimizer;
  BuildMode mode;                      // of a training micro-batch
  bool evaluate = false;               // plan an evaluation program too, for micro-batches of the same size
  bool train = true;                   // false: only the evaluation program
  bool keep_outputs = false;           // the model's outputs are those of the evaluation
  bool keep_training_outputs = false;  // and of the micro-batches' programs; without a pipeline
  RecomputeConfig recompute;
  OffloadConfig offload;         // of activations
  QuantizeSpec quantize;         // of linear layers; the suffix is each piece's
  bool shard_optimizer = false;  // over the data-parallel ranks
  i64 bucket_size = 0;           // then; 0: by Megatron's rule
  Traffic traffic;
  PipelineSpec pipeline;
  std::optional<LossScaling> loss_scaling = {};
  bool copies_state = false;         // for saves during training
  bool counts_nonzeros = false;      // of the gradients: the output kNonzeros of the step's end
  bool tells_amax = false;           // of delayed scaling: an output of the step's end for each of PlannedStep::scales
  bool tells_counts = false;         // of casts to codes: the same for each of PlannedStep::counts
  NormsAsked norms;                  // a separate program, kNorms, after each step
  i64 micro_batches = 1;             // of a step, at most
  bool casts_once = true;            // weights to codes, if a step has several micro-batches and memory suffices
  std::set<std::string> passes_off;  // in addition to the backend's own
};

// Without a pipeline the programs are "micro-batch" and "last-micro-batch", which updates too (train), and "evaluate"
// (evaluate); with one see PipelineStage.
struct PlannedStep {
  std::vector<Parameter> parameters;
  std::vector<Parameter> untrained;
  std::vector<std::string> states;  // suffixes of the optimizer's leaves (optim/optimizer.h)
  std::vector<Bucket>
      buckets;  // of a sharded optimizer; its weights start by "take main" (if present) and "spread weights"
  std::optional<PipelineStage> pipeline;
  std::vector<DataInput> inputs;   // of the model
  std::vector<std::string> terms;  // the names of the loss's terms; the first is trained on
  std::optional<LossScaling> loss_scaling;
  TallyPlaces tallies;             // of the numbers that a training step counts besides its loss
  std::list<Graph> graphs;         // of the programs; the first one is that of a training step's first piece
  std::vector<PassReport> passes;  // of a training step; evaluation's too in a pipeline, or where there is no training
  Plan plan;
  i64 unrecomputed_bytes = 0;  // activations of a training program without recomputation; 0: there is none
  i64 unoffloaded_bytes = 0;   // the same without offload to the host; 0: there is none
  OffloadReport offloaded;
  std::vector<ScaleStates> scales;  // of delayed scaling, by piece; their `seen_name` is the output with tells_amax
  std::vector<CastCounts> counts;   // of casts to codes, by piece; their `seen_name` is the output
  QuantizeReport quantized;         // of a training step, else of an evaluation; in a pipeline of the stage
  bool casts_again = false;         // weights to codes in each micro-batch, because memory does not suffice
};
// The pass rematerialize costs time. It is off if memory, also outside the plan, suffices without it. It changes no
// result. keep-repeated is on if memory suffices. With several ranks rematerialize is on and keep-repeated is off:
// ranks must agree on a plan although their memory may differ. cast-once is on if memory suffices. Ranks compare the
// answer (plan_alike).
PlannedStep plan_step(const StepSpec& spec, const Backend& backend);

// How often a program of the plan runs in a training step; how often an instruction of it runs.
double runs_a_step(const Plan& plan, const std::string& program, i64 micro_batches);
double runs_a_step(const Plan& plan, const std::string& program, const Instruction& in, i64 micro_batches);

}  // namespace megalith
