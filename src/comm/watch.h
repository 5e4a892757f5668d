// The watch: a thread per rank that tells rank 0 twice a second that the rank lives and what it is at. Rank 0, the hub,
// ends all ranks when one is gone, silent or failed; if the hub itself is gone or silent the others end on their own.
// It runs over TCP connections of its own, so that nothing the main thread waits for holds it up.
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

// A clock that stands still while this process does not run: what the others said meanwhile waits to be read, and is no
// silence of theirs.
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
  virtual void step(double now, int signal) = 0;  // signal: told to end by it, or 0
  virtual bool is_over() const = 0;
};

using Gather = std::function<std::vector<std::string>(const std::string&)>;

class Watch {
 public:
  // All ranks must call it. Error, on all ranks, if some can't reach rank 0.
  Watch(const Place& place, double silence_seconds, const Gather& gather);
  ~Watch();  // without farewell() or failed(), the others take this rank for gone

  void doing(const std::string* what) { mailbox_.doing(what); }
  std::string said(const char* otherwise) const { return mailbox_.said(otherwise); }

  void farewell();                        // once all ranks have ended well
  bool failed(const std::string& error);  // ends the others; true if rank 0 has said so

 private:
  void run();
  void stop();

  WatchMailbox mailbox_;
  EndSignals signals_{mailbox_.wake_fd()};
  std::unique_ptr<Post> post_;
  std::atomic<bool> is_stopped_ = false;
  std::thread thread_;
};

}  // namespace megalith
