// A run's checkpoints: all content except tensors, and how a run resumes from one.
#pragma once
#include <functional>
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

// The progress of a run at an iteration: everything except tensors.
struct RunProgress {
  RunState state;
  Interval interval;               // since the last log line
  std::vector<DatasetUse> data{};  // read position of each dataset, if samples are read in order
  std::string hf_config{};         // the config.json of the Hugging Face model that the run started from
};

// Everything in a checkpoint except its tensors.
Manifest manifest_of(const Options& options, const RunProgress& progress, const Schedules& schedules);

// Alternatives to the latest checkpoint of --load.
struct StartChoice {
  std::optional<FoundNonPersistent> non_persistent{};  // a newer non-persistent checkpoint
  std::shared_ptr<AnyCheckpoint> snapshot{};           // a snapshot in memory that is newer than both
  std::optional<i64> no_later_than{};                  // ignores newer checkpoints
};

// The start of a run: random weights, a checkpoint (ours or Megatron's), or the weights of a Hugging Face model
// directory. The constructor reads and checks everything except tensors. So mistakes are reported before memory is
// allocated. verify() follows.
class RunStart {
 public:
  // Reads --load. Error if its content is unreadable, or if it is empty with --exit-on-missing-checkpoint. Warns if
  // settings changed.
  explicit RunStart(const Options& options, const StartChoice& choice = {});
  // Error if the flags do not match the checkpoint: another model, or another schedule (see choose_schedules). Also
  // if --save has checkpoints from which the run does not resume. It is separate from reading: an older checkpoint
  // may replace a damaged one, but not a refused one.
  void check_accepted() const;

  std::string passed_over() const;  // why this is not the newest checkpoint of its directory; "" if it is
  std::string place() const;        // directory of the checkpoint or model; "" if there is none
  // Verifies checksums of Megatron's formats, all or a share of them: fill() does not verify these formats.
  void verify(const Share& share);

  const RunProgress& progress() const { return progress_; }  // zero with --finetune or for a hub directory
  const Schedules& schedules() const { return schedules_; }
  std::optional<i64> iteration() const;                          // of the checkpoint; none if there is none
  bool is_non_persistent() const { return is_non_persistent_; }  // true for a snapshot too
  std::optional<i64> snapshot() const { return is_snapshot_ ? iteration() : std::nullopt; }  // its iteration
  bool resumes() const { return checkpoint_ && checkpoint_->format != CkptFormat::hf && !from_zero_; }
  // Reads or draws the weights, and reads the optimizer state if there is one. Verifies every byte of a native
  // checkpoint: DamagedCheckpoint if a checksum differs. The caller calls ModelState::finish(). `threads`: used for a
  // snapshot.
  void fill(ModelState& model, int threads) const;
  void say_filled() const;  // a line for the log
  // A warning if this run's number of training samples gives them another order than the saved run's; "" if not.
  std::string changed_order(const Dataset* train) const {
    return changed_order_ && train ? changed_order_(*train) : "";
  }
  void let_go();  // closes the checkpoint's files, which may then be deleted

 private:
  void open(const Options& options, const StartChoice& choice);
  void read_opened(const Options& options);
  void read_run(const Options& options);
  std::string overwriting(
      const TrainConfig& train) const;  // why a save to that directory is refused; "" if it is allowed

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
  std::function<std::string(const Dataset&)> changed_order_;
};

}  // namespace megalith
