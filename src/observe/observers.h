// The sinks of a run: each takes what the run tells.
#pragma once
#include <functional>
#include <memory>
#include <vector>

#include "observe/endpoint.h"
#include "observe/record.h"

namespace megalith {

class Observers {
 public:
  // Those that the flags ask for. The run begins behind `iteration` and ends at `train_iters`. `writes`: of several
  // ranks one writes files and the progress line. `endpoint`: of this rank, if it has one; it outlives the observers.
  // Error if a file cannot be opened.
  Observers(const Options& options, i64 iteration, i64 train_iters, bool writes, Endpoint* endpoint = nullptr);

  void take(const Record& record) const;
  void take_evaluation(const Evaluated& evaluated) const;
  void take_save(const EndedSave& save) const;
  void take_own_work(std::span<const OwnWork> ranks) const;
  void take_times(std::span<const NamedValue> seconds, i64 iteration) const;
  void leave(Away where) const;
  void come_back() const;
  void finish() const;
  double seconds() const { return seconds_; }  // that the calling thread has spent in them

 private:
  void each(const std::function<void(Sink&)>& f) const;
  mutable double seconds_ = 0;
  std::vector<std::unique_ptr<Sink>> sinks_;
};

}  // namespace megalith
