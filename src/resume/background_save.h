// A checkpoint that is saved during training: a thread on each rank writes that rank's part. Then the first rank's
// thread makes the checkpoint appear by one rename and, when it is complete, deletes old ones. Ranks exchange their
// progress over the control plane, at moments that the training loop chooses: only the loop's thread communicates.
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
    std::string error;  // empty: it is saved
  };
  // Collective. `own`: every rank writes its own checkpoint, in its own directory; together they count as one.
  // `prepare` creates this rank's writer now; its exceptions fail the save, like all later ones. `ready` is called on
  // the writing thread before it starts.
  BackgroundSave(
      Ranks& ranks, SaveSteps steps, bool own, const std::function<std::unique_ptr<PartWriter>()>& prepare,
      std::function<void()> ready = [] {});
  ~BackgroundSave();
  BackgroundSave(const BackgroundSave&) = delete;
  BackgroundSave& operator=(const BackgroundSave&) = delete;

  // Both on all ranks at the same moment. poll: whether it has ended, without waiting; wait: until then. The outcome is
  // the same on all.
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
  std::future<std::string> work_;  // this rank's part of the phase
  std::string state_;   // for the others: "" while it lasts, then "+" (and where to write), or "-" and its error
  std::string result_;  // where to write, or the report of what was written
  std::string error_;   // for which it is abandoned
};

}  // namespace megalith
