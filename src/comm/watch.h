// The watch: a thread on each rank. Twice a second it reports to rank 0 that the rank is alive, and what it is doing.
// Rank 0, the hub, ends all ranks if one dies, stalls or fails. If the hub dies or stalls, the other ranks exit on
// their own. It has its own TCP connections, so a blocked main thread does not block it.
#pragma once
#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <thread>

#include "comm/end_signals.h"
#include "comm/member.h"
#include "comm/ranks.h"
#include "comm/watch_mailbox.h"

namespace megalith {

// A clock that stops while this process is stopped. Reports of other ranks wait in the socket then; they are not
// missing.
class OwnClock {
 public:
  double advance();  // seconds since the start
 private:
  static constexpr double kLongestStep = 0.4;
  std::chrono::steady_clock::time_point last_ = std::chrono::steady_clock::now();
  double now_ = 0;
};

// One side of the watch, on its thread.
class Post {
 public:
  virtual ~Post() = default;
  virtual std::vector<int> fds() const = 0;       // to wake up for
  virtual void step(double now, int signal) = 0;  // signal: that asks this rank to end, or 0
  virtual bool is_over() const = 0;
};

using Gather = std::function<std::vector<std::string>(const std::string&)>;

class Watch {
 public:
  // All ranks must call it. Error, on all ranks, if some can't reach rank 0.
  Watch(const Place& place, double silence_seconds, const Gather& gather);
  ~Watch();  // without farewell() or failed(), the others count this rank as lost

  void doing(const std::string* what) { mailbox_.doing(what); }
  std::string said(const char* otherwise) const { return mailbox_.said(otherwise); }

  int neighbours() const { return neighbours_; }  // ranks of this host, with this one

  void farewell();                        // once all ranks have ended well
  bool failed(const std::string& error);  // ends the others; returns whether rank 0 has confirmed it

 private:
  void run();
  void stop();

  WatchMailbox mailbox_;
  EndSignals signals_{mailbox_.wake_fd()};
  std::unique_ptr<Post> post_;
  std::atomic<bool> is_stopped_ = false;
  int neighbours_ = 0;
  std::thread thread_;
};

}  // namespace megalith
