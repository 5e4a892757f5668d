// A run's checkpoints: what goes in beside the tensors, and how a run goes on from one.
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

// What a run is at some iteration, beside its tensors.
struct RunProgress {
  RunState state;
  Interval interval;               // since the last log line
  std::vector<DatasetUse> data{};  // how far the training data were read, if they are read in order
  std::string hf_config{};         // the config.json that the model came from, if from one
};

// What a checkpoint says beside its tensors.
Manifest manifest_of(const Options& options, const RunProgress& progress, const Schedules& schedules);

// Where to begin instead of with the latest checkpoint of --load.
struct StartChoice {
  std::optional<FoundNonPersistent> non_persistent{};  // a copy that is newer than it
  std::shared_ptr<AnyCheckpoint> snapshot{};           // one in memory that is newer than both
  std::optional<i64> no_later_than{};                  // newer checkpoints are as if they were not there
};

// Where a run begins: nowhere (random weights), in a checkpoint (ours or Megatron's) or in a Hugging Face model
// directory (its weights only). Opening it reads and checks everything but tensors, so that mistakes are told before
// memory is taken; verify() follows.
class RunStart {
 public:
  // Follows --load. Error if what is there can't be read, or if nothing is there with --exit-on-missing-checkpoint; a
  // warning where settings changed.
  explicit RunStart(const Options& options, const StartChoice& choice = {});
  // Error if the flags refuse what was read: it is of another model, or its schedule is another (see choose_schedules);
  // or if --save holds checkpoints that the run does not go on from.
  // Apart from reading, since another checkpoint may stand in for one that is damaged, but not for one that is refused.
  void check_accepted() const;

  std::string passed_over() const;  // why this is not the newest checkpoint of its directory; "" if it is
  std::string place() const;        // of the checkpoint or model; "" if there is none
  // Compares the checksums of Megatron's formats, of which reading compares none, or a share of them.
  void verify(const Share& share);

  const RunProgress& progress() const { return progress_; }  // zero with --finetune or for a hub directory
  const Schedules& schedules() const { return schedules_; }
  std::optional<i64> iteration() const;                          // of the checkpoint; none if there is none
  bool is_non_persistent() const { return is_non_persistent_; }  // or a snapshot
  std::optional<i64> snapshot() const { return is_snapshot_ ? iteration() : std::nullopt; }  // its iteration
  bool resumes() const { return checkpoint_ && checkpoint_->format != CkptFormat::hf && !from_zero_; }
  // Reads or draws the weights, and reads the optimizer's state if there is one. Of what is read from a native
  // checkpoint every byte is verified: DamagedCheckpoint if it is not what was saved. ModelState::finish() is left to
  // the caller. `threads`: for a snapshot.
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

// The model that a directory holds, by its own account: config.json or the checkpoint's options. Error if it holds
// neither.
struct StoredModel {
  ModelConfig model;
  TokenizerConfig tokenizer;           // empty type for a hub directory
  std::vector<i64> ends_of_text{};     // by the Hugging Face files that it is, or came from
  std::optional<i64> decoder_start{};  // of an encoder-decoder, by the same
};
TokenizerConfig stored_tokenizer(const AnyCheckpoint& checkpoint);  // of its run; of no type if it does not tell
StoredModel read_stored_model(const CheckpointPlace& place, i64 iteration);
StoredModel read_stored_model(const std::string& dir, i64 iteration);

// The checkpoint of the directory, of this iteration unless it is 0, or its Hugging Face model; none if it holds
// neither. Error if `dir` is there but no directory.
std::optional<CheckpointPlace> find_loadable(const std::string& dir, i64 iteration);

}  // namespace megalith
