// A run's checkpoints: what goes in beside the tensors, and how a run goes on from one.
#pragma once
#include <optional>
#include <string>

#include "ckpt/any_checkpoint.h"
#include "train/interval_stats.h"
#include "train/model_state.h"
#include "train/options.h"
#include "train/trainer.h"

namespace megalith {

// What a run is at some iteration, beside its tensors.
struct RunProgress {
  RunState state;
  Interval interval;  // since the last log line: sums
};

// Saves under --save. A failure is a warning: training goes on and earlier checkpoints are untouched. Returns whether
// it was saved.
bool save_run(const Options& options, const ModelState& model, const RunProgress& progress, const Schedules& schedules);

// Where a run begins: nowhere (random weights), in a checkpoint (ours or Megatron's) or in a Hugging Face model
// directory (its weights only). Opening it reads and checks everything but tensors, so that mistakes are told before
// memory is taken.
class RunStart {
 public:
  // Follows --load. Error if there is something else than a checkpoint of this model, if its schedule is another (see
  // choose_schedules), or if nothing is there with --exit-on-missing-checkpoint; a warning where settings changed.
  explicit RunStart(const Options& options);

  const RunProgress& progress() const { return progress_; }  // zero with --finetune or for a hub directory
  const Schedules& schedules() const { return schedules_; }
  bool resumes() const { return checkpoint_ && !from_zero_; }
  // Reads or draws the weights, and reads the optimizer's state if there is one.
  void fill(ModelState& model) const;

 private:
  void open_checkpoint_of(const Options& options);

  std::string load_;
  u64 seed_;
  bool hub_ = false;
  bool from_zero_ = false;  // weights only, from iteration 0
  bool with_optimizer_ = false;
  std::optional<AnyCheckpoint> checkpoint_;
  RunProgress progress_;
  Schedules schedules_;
};

// Weights alone, of either kind of directory, for evaluation and generation.
void load_weights(const std::string& dir, i64 iteration, ModelState& model);

// The model that a directory holds, by its own account: config.json or the checkpoint's options. Error if it holds
// neither.
struct StoredModel {
  ModelConfig model;
  TokenizerConfig tokenizer;  // empty type for a hub directory
};
StoredModel read_stored_model(const std::string& dir, i64 iteration);

// Whether the directory holds a checkpoint or a Hugging Face model. Error if `dir` is there but no directory.
bool is_loadable(const std::string& dir);

}  // namespace megalith
