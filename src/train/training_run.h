// A training run from its first step to its end: the training loop, and the work between steps.
#pragma once
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "goodput/ledger.h"
#include "inject/faults.h"
#include "observe/gpu_signals.h"
#include "observe/observers.h"
#include "observe/rank_losses.h"
#include "observe/recorder.h"
#include "observe/step_health.h"
#include "observe/straggler.h"
#include "observe/timing_log.h"
#include "resume/run_begin.h"
#include "resume/save_interval.h"
#include "resume/saver.h"
#include "resume/snapshots.h"
#include "settings/batch_sizes.h"
#include "settings/schedules.h"
#include "step/pipeline.h"
#include "train/data_use.h"
#include "train/incidents.h"
#include "train/open_run.h"
#include "train/step_replay.h"
#include "train/stop_requests.h"
#include "train/validation.h"
#include "train/weight_check.h"

namespace megalith {

class TrainingRun {
 public:
  // `endpoint`: of this rank, or nullptr. It must outlive the run.
  TrainingRun(const Options& options, const Backend& backend, Ranks& ranks, Opened run, Endpoint* endpoint = nullptr);
  int train();  // returns the exit code

 private:
  // Rebuilds the datasets if the run resumed from an older checkpoint than planned (the newest was damaged). Then it
  // needs more samples.
  Datasets enough(Opened& run);
  void say_nothing_is_left() const;
  // Signals get their former handlers as soon as everything is saved.
  int train_and_save();
  // Whether the last started step can be finished now, without waiting. A rank knows this of its own device only. So
  // it is false if ranks communicate about each step.
  bool may_finish();
  // A failure to read data must not lose the steps since the last checkpoint. One of several ranks cannot save
  // separately: the others wait for it in the step, until its error ends them.
  void start(DataLoader& loader);
  // Logs a change of the batch size at the next step.
  void say_size(i64 before) const;
  void finish_all();
  std::optional<Fp8Scales> scales();  // of fp8, if they are reported
  void watch_runs();
  // --iterations-to-skip: whether the next iteration is skipped. Its data are read.
  bool is_left_out() const;
  void leave_out(DataLoader& loader);
  // --skip-samples: counts and logs the samples that the last step left out. The step began after `consumed` samples.
  void leave_out_samples(i64 consumed);
  void finish();
  void tell_rank_losses(const StepResult& result, bool is_due);
  // Called around work that is not training.
  void pause(Away where);
  void resume();
  void validate(const std::function<void()>& f);
  void save_apart(const std::function<void()>& f);
  // Allocates the memory of an interpreter that has no memory yet. Makes an interpreter if there is none.
  std::unique_ptr<Interpreter> ready_interpreter(std::unique_ptr<Interpreter> deferred) const;
  RunStart loaded(RunStart start, bool is_filled);
  void say_times(const std::string& block) const;
  void timed(const std::string& name, const std::function<void()>& f);
  void profile(bool on);
  std::optional<double> peak() const;
  bool exits_at(i64 iteration) const { return t_.exit_interval > 0 && iteration % t_.exit_interval == 0; }
  // Whether something after the last started step needs all steps finished: the run's end, or a reader of the model.
  bool something_is_due() const;
  // Of all data-parallel ranks, in one micro-batch.
  i64 samples_at_once() const;
  std::vector<DatasetUse> data_read() const;
  // Whether the run starts from a checkpoint in --save.
  bool is_saved_start() const;
  // Error if another job has taken over the save directory.
  void check_places();
  RunProgress progress(const std::vector<DatasetUse>& data) const;
  bool saves_at(i64 iteration) const { return saver_.saves_at(iteration) || save_interval_.is_due(iteration); }
  // Compares copies of weights, and computes again, where that is due. The code that this rank then ends with: nothing
  // is saved.
  std::optional<int> look_for_doubts(bool keeps_state);
  bool compares_weights_at(i64 iteration) const;
  bool replays_at(i64 iteration) const;
  bool is_saved() const { return saver_.has_saved(state_.iteration); }
  void save();
  void save_non_persistent();
  void take_snapshot();
  void tell_saves();  // reports the saves that ended
  // Collective: gathers the hosts and GPUs of the ranks, if the run writes them to a file.
  void tell_ranks();
  bool keeps_ranks() const { return ranks_.rank() == 0 && !t_.save.empty() && !t_.skip_train; }
  void tell_memory();
  // Returns when the state is on disk. A save that failed in the background is tried again.
  void save_last();
  bool should_exit(const StopRequests& requests) const;
  // 0 means that nothing is lost.
  int exit_code(const StopRequests& requests) const;

  const Options& o_;
  const TrainConfig& t_;
  const Backend& backend_;
  Endpoint* endpoint_;
  Ranks& ranks_;
  Ledger ledger_;
  const double began_;  // StartAhead::began
  MemoryNeed need_;
  const std::unique_ptr<PlannedStep> planned_;
  PlannedStep& step_;
  Coord coord_;
  std::unique_ptr<Interpreter> interpreter_;
  Faults faults_;
  RunWatches watches_;  // of the interpreter
  bool in_step_;        // each step is finished on all ranks before the next one starts
  ModelState model_;
  RunStart start_;
  BatchSizes sizes_;
  Schedules schedules_;
  Trainer trainer_;
  Evaluation evaluation_;
  RunState state_;
  Datasets datasets_;
  i64 last_;              // iteration
  i64 last_samples_ = 0;  // of the last step
  bool is_in_doubt_ = false;
  Recorder recorder_;
  PhaseMemory phases_;
  Observers observers_;
  Validation validation_;
  StepHealth health_;
  SavePlaces places_;
  Incidents incidents_;
  std::optional<WeightCheck> weight_check_;  // where wanted
  StepReplay replay_;
  std::optional<RankLosses> rank_losses_;  // where wanted
  std::unique_ptr<GpuTeller> gpu_;         // if there is an endpoint
  std::optional<TimingLog> timing_;        // where wanted
  std::optional<Straggler> straggler_;     // only with several ranks and its flag
  Saver saver_;
  Snapshots snapshots_;
  SaveInterval save_interval_;
  bool profiled_ = false;  // now
};

}  // namespace megalith
