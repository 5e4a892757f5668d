// One training step of a small model on all ranks of a mesh, in f64: micro-batches, accumulation, reduction, norm,
// clipping, AdamW.
#pragma once
#include <set>

#include "models/make_model.h"
#include "passes/recompute.h"
#include "passes/tally.h"
#include "tests/harness/rank_set.h"

namespace megalith::harness {

struct Batch {
  Tensor tokens, labels, mask, positions, starts;  // [s, b]
  Tensor rows;                                     // [b]
  // Of BERT: segments and the first position [s, b]; tokens before the padding, swapped or not, ones [b].
  Tensor types, first, lengths, swapped, pairs;
  std::map<std::string, Tensor> others = {};  // of an encoder-decoder: by leaf
};
// 8 samples with uneven loss masks. With `documents`, some samples hold two, whose positions begin at 0. Of an
// encoder-decoder labels and mask are the decoder's, and samples are of different lengths.
Batch make_batch(const ModelConfig& model, bool documents);

struct TrainingSpec {
  ModelConfig model;
  Mesh mesh;
  ParallelStyle style = {};
  i64 samples = 8;
  int micro_batches = 1;
  bool documents = false;  // positions and document starts come with the data
  bool regather = true;
  bool ring = false;
  bool overlap_experts = false, overlap_dispatch = false;
  std::set<std::string> passes_off = {};
  bool fuses_casts = true;
  RecomputeConfig recompute = {};
  bool tally = false;  // all that a mixture can tell
  // Deliberate mistakes: in the forward graph, in the full graph before the passes, in the run.
  std::function<void(Graph&)> edit_forward = {}, edit_all = {};
  RankSet::Fault fault = {};
};

struct TrainingGraph {
  Graph g;
  std::vector<Parameter> parameters, untrained;
  std::vector<std::string> terms;  // of the loss
  TallyPlaces places;
};
// Forward, backward, accumulation, update; verified; no passes yet.
TrainingGraph build_training(const TrainingSpec& spec);

// The graph after the passes, planned: programs "micro-batch" and "update".
Plan plan_training(const TrainingSpec& spec, TrainingGraph& t);

using Tensors = std::map<std::string, Tensor>;  // by parameter

// Initial values, keyed by name and element; the padding of a vocabulary is 0.
Tensors initial_values(const std::vector<Parameter>& parameters);
// Of leaves that are not trained. Biases of experts are too small to decide a choice.
Tensor untrained_values(const std::string& name, const Shape& shape);

struct StepResult {
  double loss = 0, norm = 0;  // as the step says
  Tensors gradients, after;   // of the mean loss; parameters, and leaves that are not trained, after the step
  std::vector<double> terms;  // the means of the loss's others
  Tensors tallies;            // by name
};

class Training {
 public:
  Training(const TrainingSpec& spec, const Batch& batch);
  StepResult step(const Tensors& values);
  double loss(const Tensors& values);  // only forward and backward
  std::vector<double> terms();         // of the last micro-batches
  const std::vector<Parameter>& parameters() const { return parameters_; }
  Tensor read(const std::string& leaf) { return ranks_->read(leaf); }

 private:
  void run_micro_batches(const Tensors& values);
  double sum(const std::string& leaf);
  Tensors tallies();

  TrainingSpec spec_;
  const Batch& batch_;
  std::vector<Parameter> parameters_, untrained_;
  std::vector<std::string> terms_;
  TallyPlaces places_;
  std::unique_ptr<RankSet> ranks_;
};

}  // namespace megalith::harness
