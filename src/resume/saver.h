// When and where a run saves checkpoints: to --save and, more often, non-persistent ones
// (--non-persistent-save-interval). With --async-save training waits only until the state is copied.
#pragma once
#include <chrono>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "resume/background_save.h"
#include "resume/checkpointing.h"
#include "resume/ended_save.h"
#include "resume/save_place.h"
#include "resume/state_save.h"

namespace megalith {

class Saver {
 public:
  // Collective. `places`: the directories that this rank locks. Allocates the memory for state copies, if needed:
  // host memory, and device memory that the plan reserved. `saved`: the iteration of an existing checkpoint under
  // --save; -1: none.
  Saver(const Options& options, const ModelState& model, Ranks& ranks, const SavePlaces& places, i64 device_copies,
        i64 saved);

  void watch(StepHook hook) { hook_ = std::move(hook); }  // sees each step of the next saves
  bool saves_at(i64 iteration) const;                     // under --save
  bool saves_non_persistent_at(i64 iteration) const;

  // All of these are collective, and wait for the previous save to finish. A failure is a warning: training
  // continues, and earlier checkpoints are unchanged.
  void save(const RunProgress& progress, const Schedules& schedules);
  void save_non_persistent(const RunProgress& progress, const Schedules& schedules);
  void poll();    // between steps: advances an async save
  void finish();  // waits until no save is running
  // The outcomes of saves to --save since the last call.
  std::vector<EndedSave> take_ended() { return std::exchange(ended_, {}); }
  bool has_saved(i64 iteration) const { return saved_ == iteration; }  // under --save, on disk

 private:
  struct Job {
    i64 iteration;
    bool persistent;
    std::string dir;  // for the log
    std::chrono::steady_clock::time_point began;
    std::optional<StateBlocks> blocks{};  // after prepare()
    std::unique_ptr<BackgroundSave> save{};
  };
  struct Target {
    std::string dir;
    SaveOptions options;
    bool persistent, own;
  };
  void start(const Target& target, const RunProgress& progress, const Schedules& schedules);
  std::unique_ptr<PartWriter> prepare(const Target& target, const RunProgress& progress, const Schedules& schedules);
  void end(const BackgroundSave::Outcome& outcome);

  const Options& o_;
  const TrainConfig& t_;
  const ModelState& model_;
  Ranks& ranks_;
  const SavePlaces& places_;
  StepHook hook_;
  i64 saved_;
  std::string start_;  // name of this start of the run, for non-persistent checkpoints
  std::unique_ptr<Job> job_;
  std::vector<EndedSave> ended_;
};

}  // namespace megalith
