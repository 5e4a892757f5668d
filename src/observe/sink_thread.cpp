#include "observe/sink_thread.h"

#include <chrono>
#include <condition_variable>
#include <csignal>
#include <deque>
#include <mutex>
#include <thread>
#include <utility>

#include "base/log.h"

namespace megalith {

static constexpr std::chrono::milliseconds kLook(100);

// Shared with the thread, so that a thread that is stuck in a sink may outlive the run.
struct SinkThread::State {
  struct Told {
    ToldAt at;
    Tell tell;
  };

  std::string what;
  std::vector<std::unique_ptr<Sink>> sinks;
  std::shared_ptr<ToldAt> clock;
  SinkLimits limits;

  std::mutex mutex;
  std::condition_variable filled, taken;
  std::deque<Told> queue;
  bool is_busy = false, ends = false, is_left = false;
  bool is_stuck = false;  // records are dropped now
  i64 takes = 0;          // so far
  i64 dropped = 0, told_dropped = 0;
  double seconds = 0;
  bool has_failed = false;
  std::thread thread;

  // Needs the lock. Waits while the sinks make progress; false: they made none for `patience` seconds.
  bool wait_until(std::unique_lock<std::mutex>& lock, double patience, const std::function<bool()>& done) {
    while (!done()) {
      const i64 before = takes;
      taken.wait_for(lock, std::chrono::duration<double>(patience), [&] { return done() || takes != before; });
      if (!done() && takes == before) return false;
    }
    return true;
  }

  void run() {
    sigset_t all;
    sigfillset(&all);  // the training thread handles signals
    pthread_sigmask(SIG_SETMASK, &all, nullptr);
    std::unique_lock lock(mutex);
    for (;;) {
      while (!ends && queue.empty()) filled.wait_for(lock, kLook);
      if (queue.empty() || is_left) return;
      const Told next = std::move(queue.front());
      queue.pop_front();
      is_busy = true;
      taken.notify_all();  // the queue has space
      lock.unlock();
      const double began = steady_seconds();
      *clock = next.at;
      give(next.tell);
      lock.lock();
      seconds += steady_seconds() - began;
      is_busy = false, ++takes;
      taken.notify_all();
    }
  }

  // An error in a sink never stops a run.
  void give(const Tell& tell) {
    for (const auto& sink : sinks) {
      try {
        tell(*sink);
      } catch (const std::exception& e) {
        if (!std::exchange(has_failed, true)) log::warn("{}: {}: records are lost; the run continues", what, e.what());
      }
    }
  }

  // Needs the lock.
  void tell_dropped() {
    if (dropped > std::exchange(told_dropped, dropped))
      log::warn("{}: {} records are dropped so far, as it was stuck; the run continues", what, dropped);
  }
};

SinkThread::SinkThread(std::string what, std::vector<std::unique_ptr<Sink>> sinks, std::shared_ptr<ToldAt> clock,
                       SinkLimits limits)
    : state_(std::make_shared<State>()) {
  state_->what = std::move(what), state_->sinks = std::move(sinks), state_->clock = std::move(clock);
  state_->limits = limits;
  state_->thread = std::thread([state = state_] { state->run(); });
}

SinkThread::~SinkThread() { end(); }

void SinkThread::post(Tell tell, bool wakes) {
  State& s = *state_;
  if (ended_) return s.is_left ? void() : s.give(tell);
  const ToldAt now;
  {
    std::unique_lock lock(s.mutex);
    const auto has_room = [&] { return s.queue.size() < s.limits.most; };
    if (!has_room() && (s.is_stuck || !s.wait_until(lock, s.limits.patience, has_room))) {
      if (!std::exchange(s.is_stuck, true))
        log::warn("{}: it accepted no record for {:g} seconds: records are dropped until it does; the run continues",
                  s.what, s.limits.patience);
      ++s.dropped;
      return;
    }
    s.is_stuck = false;
    s.tell_dropped();
    s.queue.push_back({now, std::move(tell)});
    wakes |= 2 * s.queue.size() >= s.limits.most;
  }
  if (wakes) s.filled.notify_one();
}

bool SinkThread::flush() { return flush(state_->limits.patience); }

bool SinkThread::flush(double patience) {
  State& s = *state_;
  s.filled.notify_one();
  std::unique_lock lock(s.mutex);
  return s.wait_until(lock, patience, [&] { return s.queue.empty() && !s.is_busy; });
}

bool SinkThread::end() {
  if (std::exchange(ended_, true)) return !state_->is_left;
  State& s = *state_;
  const bool is_flushed = flush(s.limits.last_patience);
  {
    const std::lock_guard lock(s.mutex);
    s.tell_dropped();
    s.ends = true, s.is_left = !is_flushed;
    if (s.is_left)
      log::warn("{}: it accepted no record for {:g} seconds: {} records are lost", s.what, s.limits.last_patience,
                i64(s.queue.size()) + s.is_busy);
  }
  s.filled.notify_one();
  is_flushed ? s.thread.join() : s.thread.detach();
  return is_flushed;
}

void SinkThread::finish() {
  if (!end()) return;
  *state_->clock = ToldAt();
  state_->give([](Sink& sink) { sink.finish(); });
}

i64 SinkThread::dropped() const {
  const std::lock_guard lock(state_->mutex);
  return state_->dropped;
}

double SinkThread::seconds() const {
  const std::lock_guard lock(state_->mutex);
  return state_->seconds;
}

}  // namespace megalith
