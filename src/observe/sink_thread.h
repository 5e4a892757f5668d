// Sinks on a thread of their own. The training thread leaves what it tells in a bounded queue, and goes on.
#pragma once
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "observe/record.h"
#include "observe/told_at.h"

namespace megalith {

// Where the queue is full the training waits, as long as the sinks get on. Where they take nothing for `patience`
// seconds, what comes next is dropped until they go on.
struct SinkLimits {
  size_t most = 1024;
  double patience = 10, last_patience = 60;  // the last one: at the end of the run
};

class SinkThread {
 public:
  using Tell = std::function<void(Sink&)>;

  // `what` names the sinks in warnings. `clock`: the moment of what the sinks are taking, for sinks that ask it.
  SinkThread(std::string what, std::vector<std::unique_ptr<Sink>> sinks, std::shared_ptr<ToldAt> clock,
             SinkLimits limits = {});
  ~SinkThread();  // the sinks take what is queued; as finish(), but they are not told of the run's end
  SinkThread(const SinkThread&) = delete;
  SinkThread& operator=(const SinkThread&) = delete;

  // `wakes`: the thread is woken. Else it looks by itself, ten times a second: waking it costs more than the rest.
  void post(Tell tell, bool wakes = true);
  // Until the sinks have taken all that is queued; false: they are stuck.
  bool flush();
  // Ends the thread, then tells the sinks of the run's end on the calling thread.
  void finish();
  i64 dropped() const;
  double seconds() const;  // that the thread has spent in the sinks

 private:
  struct State;
  bool flush(double patience);
  bool end();  // false: they are stuck, and the thread is left alone
  std::shared_ptr<State> state_;
  bool ended_ = false;
};

}  // namespace megalith
