// A thread for sinks. The training thread appends to a bounded queue and continues.
#pragma once
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "observe/record.h"
#include "observe/told_at.h"

namespace megalith {

// If the queue is full, training waits while the sinks make progress. If they make none for `patience` seconds, new
// records are dropped until they continue.
struct SinkLimits {
  size_t most = 1024;
  double patience = 10, last_patience = 60;  // patience at the end of the run
};

class SinkThread {
 public:
  using Tell = std::function<void(Sink&)>;

  // `what`: name of the sinks in warnings. `clock`: receives the time of each record before the sinks get it.
  SinkThread(std::string what, std::vector<std::unique_ptr<Sink>> sinks, std::shared_ptr<ToldAt> clock,
             SinkLimits limits = {});
  ~SinkThread();  // processes the queue, like finish(), but does not call the sinks' finish()
  SinkThread(const SinkThread&) = delete;
  SinkThread& operator=(const SinkThread&) = delete;

  // `wakes`: wakes the thread. Otherwise it polls ten times a second, because a wake-up costs more than the rest.
  void post(Tell tell, bool wakes = true);
  // Waits until the queue is processed; false: the sinks are stuck.
  bool flush();
  // Ends the thread, then calls the sinks' finish() on the calling thread.
  void finish();
  i64 dropped() const;
  double seconds() const;  // that the thread has spent in the sinks

 private:
  struct State;
  bool flush(double patience);
  bool end();  // false: the sinks are stuck, and the thread is abandoned
  std::shared_ptr<State> state_;
  bool ended_ = false;
};

}  // namespace megalith
