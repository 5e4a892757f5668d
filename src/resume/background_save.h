// A checkpoint that is saved during training. A thread on each rank writes the state of that rank. Then the first
// rank's thread publishes the checkpoint by one rename, and deletes old checkpoints. Ranks exchange their progress
// over the control plane when the training loop asks: only the loop's thread communicates.
#pragma once
#include <future>
#include <memory>
#include <string>

#include "ckpt/native/save_steps.h"
#include "comm/ranks.h"

namespace megalith {

class BackgroundSave {
 public:
  struct Outcome {
    std::string error;  // empty: the save succeeded
  };
  // Collective. `own`: each rank saves a checkpoint in its own directory, and all of them count as one. `prepare`
  // creates this rank's writer immediately; its exceptions fail the save, as later ones do. The writing thread calls
  // `ready` before it starts.
  BackgroundSave(
      Ranks& ranks, SaveSteps steps, bool own, const std::function<std::unique_ptr<PartWriter>()>& prepare,
      std::function<void()> ready = [] {});
  ~BackgroundSave();
  BackgroundSave(const BackgroundSave&) = delete;
  BackgroundSave& operator=(const BackgroundSave&) = delete;

  // Both are collective and have the same outcome on all ranks. poll() returns empty while the save runs; wait()
  // blocks until it ends.
  std::optional<Outcome> poll();
  Outcome wait();

 private:
  enum class Phase { beginning, writing, committing, tidying, abandoning };
  void start(std::function<std::string()> f);
  void take_result();
  std::optional<Outcome> advance(const std::vector<std::string>& states);
  bool makes_it() const { return own_ || ranks_.rank() == 0; }

  Ranks& ranks_;
  SaveSteps steps_;
  std::unique_ptr<PartWriter> writer_;
  bool own_;
  std::function<void()> ready_;
  Phase phase_ = Phase::beginning;
  std::future<std::string> work_;  // this rank's work in the current phase
  std::string state_;   // on other ranks: "" during the phase, then "+" and the path to write to, or "-" and the error
  std::string result_;  // the path to write to, or the report of the written files
  std::string error_;   // why the save is abandoned
};

}  // namespace megalith
