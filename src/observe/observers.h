// The sinks of a run. Console sinks run on the calling thread, so that their lines are in order with the run's log.
// Files and the endpoint have their own threads (SinkThread).
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
  // Opens the sinks that the flags request. The run begins after `iteration` and ends at `train_iters`. `writes`:
  // true on the one rank that writes files and the progress line. `endpoint`: of this rank, or nullptr; it outlives
  // the observers. `scales`: of fp8, for the endpoint. Error if a file cannot be opened.
  Observers(const Options& options, i64 iteration, i64 train_iters, bool writes, Endpoint* endpoint = nullptr,
            std::optional<Fp8Scales> scales = {});

  void take(const Record& record) const;
  void take_ranks(std::span<const PlaceOfRank> ranks) const;
  void take_evaluation(const Evaluated& evaluated) const;
  void take_save(const EndedSave& save) const;
  void take_own_work(std::span<const OwnWork> ranks) const;
  void take_rank_losses(std::span<const LossDeviation> ranks) const;
  void take_times(std::span<const NamedValue> seconds, i64 iteration) const;
  void take_memory(const MemoryTold& memory) const;
  void take_memory_use(std::span<const MemoryUse> ranks) const;
  void leave(Away where) const;
  void come_back() const;
  // Waits until all sinks have processed their queues. Called before anything that may end the process, and before a
  // checkpoint is published: a resumed run relies on the files.
  void flush() const;
  void finish() const;
  double seconds() const { return seconds_; }  // that the calling thread has spent in sinks
  double seconds_beside() const;               // that the sinks' own threads have spent

 private:
  void each(const SinkThread::Tell& tell) const;
  void counted(const std::function<void()>& f) const;
  mutable double seconds_ = 0;
  std::vector<std::unique_ptr<Sink>> sinks_;          // fed here
  std::vector<std::unique_ptr<SinkThread>> threads_;  // one each, so that a slow disk does not delay the endpoint
};

}  // namespace megalith
