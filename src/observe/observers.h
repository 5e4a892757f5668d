// The sinks of a run: each takes what the run tells. Those that write for people take it at once, as their lines stand
// among the run's own. Files and the endpoint take it on threads of their own.
#pragma once
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "observe/endpoint.h"
#include "observe/fp8_scales.h"
#include "observe/sink_thread.h"

namespace megalith {

class Observers {
 public:
  // Those that the flags ask for. The run begins behind `iteration` and ends at `train_iters`. `writes`: of several
  // ranks one writes files and the progress line. `endpoint`: of this rank, if it has one; it outlives the observers.
  // Error if a file cannot be opened.
  // `scales`: of fp8, for the endpoint.
  Observers(const Options& options, i64 iteration, i64 train_iters, bool writes, Endpoint* endpoint = nullptr,
            std::optional<Fp8Scales> scales = {});

  void take(const Record& record) const;
  void take_evaluation(const Evaluated& evaluated) const;
  void take_save(const EndedSave& save) const;
  void take_own_work(std::span<const OwnWork> ranks) const;
  void take_rank_losses(std::span<const LossDeviation> ranks) const;
  void take_times(std::span<const NamedValue> seconds, i64 iteration) const;
  void take_memory(const MemoryTold& memory) const;
  void leave(Away where) const;
  void come_back() const;
  // Until all sinks have what they were told. Before what the run may not come back from, and before a checkpoint is
  // there from which it may go on.
  void flush() const;
  void finish() const;
  double seconds() const { return seconds_; }  // that the calling thread has spent for them
  double seconds_beside() const;               // that their own threads have

 private:
  void each(const SinkThread::Tell& tell) const;
  void counted(const std::function<void()>& f) const;
  mutable double seconds_ = 0;
  std::vector<std::unique_ptr<Sink>> sinks_;          // fed here
  std::vector<std::unique_ptr<SinkThread>> threads_;  // a disk that hangs does not hold up the endpoint
};

}  // namespace megalith
