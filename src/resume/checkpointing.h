// A run's checkpoints: their content besides the tensors, and how a run resumes from one.
#pragma once
#include <memory>
#include <optional>
#include <string>

#include "ckpt/any_checkpoint.h"
#include "data/dataset.h"
#include "resume/interval.h"
#include "resume/non_persistent.h"
#include "settings/options.h"
#include "step/model_state.h"
#include "step/trainer.h"

namespace megalith {

// The state of a run at an iteration, besides its tensors.
struct RunProgress {
  RunState state;
  Interval interval;               // since the last log line
  std::vector<DatasetUse> data{};  // how far the training data were read, if they are read in order
  std::string hf_config{};         // the config.json that the model came from, if from one
};

// The content of a checkpoint besides its tensors.
Manifest manifest_of(const Options& options, const RunProgress& progress, const Schedules& schedules);

// Where to start, instead of the latest checkpoint of --load.
struct StartChoice {
  std::optional<FoundNonPersistent> non_persistent{};  // a copy that is newer than it
  std::shared_ptr<AnyCheckpoint> snapshot{};           // one in memory that is newer than both
  std::optional<i64> no_later_than{};                  // newer checkpoints are as if they were not there
};

// The start of a run: nothing (random weights), a checkpoint (ours or Megatron's) or a Hugging Face model directory
// (its weights only). Opening it reads and checks everything but tensors, so mistakes are reported before memory is
// allocated; verify() follows.
class RunStart {
 public:
  // From --load. Error if its content cannot be read, or if it is empty with --exit-on-missing-checkpoint. A warning
  // if settings changed.
  explicit RunStart(const Options& options, const StartChoice& choice = {});
  // Error if the flags refuse what was read: another model, or another schedule (see choose_schedules). Also if
  // --save has checkpoints from which the run does not resume. It is separate from reading, because another
  // checkpoint may replace a damaged one, but not a refused one.
  void check_accepted() const;

  std::string passed_over() const;  // why this is not the newest checkpoint of its directory; "" if it is
  std::string place() const;        // of the checkpoint or model; "" if there is none
  // Verifies the checksums of Megatron's formats, or a share of them: reading verifies none of them.
  void verify(const Share& share);

  const RunProgress& progress() const { return progress_; }  // zero with --finetune or for a hub directory
  const Schedules& schedules() const { return schedules_; }
  std::optional<i64> iteration() const;                          // of the checkpoint; none if there is none
  bool is_non_persistent() const { return is_non_persistent_; }  // or a snapshot
  std::optional<i64> snapshot() const { return is_snapshot_ ? iteration() : std::nullopt; }  // its iteration
  bool resumes() const { return checkpoint_ && checkpoint_->format != CkptFormat::hf && !from_zero_; }
  // Reads or draws the weights, and reads the optimizer state if there is one. Every byte from a native checkpoint is
  // verified: DamagedCheckpoint if it differs from what was saved. The caller calls ModelState::finish(). `threads`:
  // for a snapshot.
  void fill(ModelState& model, int threads) const;
  void say_filled() const;  // a line for the log
  void let_go();            // of the checkpoint's files, which may then be deleted

 private:
  void open(const Options& options, const StartChoice& choice);
  void read_opened(const Options& options);
  void read_run(const Options& options);
  std::string overwriting(const TrainConfig& train) const;  // what speaks against saving there; "" if nothing

  std::string load_;
  bool is_non_persistent_, is_snapshot_;
  ParallelConfig parallel_;
  u64 seed_;
  bool from_zero_ = false;  // weights only, from iteration 0
  bool with_optimizer_ = false;
  std::string refusal_;  // "" if there is none
  std::optional<AnyCheckpoint> checkpoint_;
  RunProgress progress_;
  Schedules schedules_;
};

// Weights alone, of either kind of directory, for evaluation and generation.
void load_weights(const std::string& dir, i64 iteration, ModelState& model);

// The model of a directory, from its config.json or the checkpoint's options. Error if it has neither.
struct StoredModel {
  ModelConfig model;
  TokenizerConfig tokenizer;           // empty type for a hub directory
  std::vector<i64> ends_of_text{};     // by the Hugging Face files that it is, or came from
  std::optional<i64> decoder_start{};  // of an encoder-decoder, by the same
};
TokenizerConfig stored_tokenizer(const AnyCheckpoint& checkpoint);  // of its run; of no type if it does not tell
StoredModel read_stored_model(const CheckpointPlace& place, i64 iteration);
StoredModel read_stored_model(const std::string& dir, i64 iteration);

// The directory's checkpoint of this iteration (0: the latest), or its Hugging Face model; none if it has neither.
// Error if `dir` exists and is no directory.
std::optional<CheckpointPlace> find_loadable(const std::string& dir, i64 iteration);

}  // namespace megalith
