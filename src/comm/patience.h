// How polling loops wait: first by yielding the core, then by sleeping, as other ranks may need this very core.
#pragma once
#include <poll.h>
#include <sched.h>
#include <time.h>

#include <algorithm>
#include <chrono>
#include <thread>

namespace megalith {

class Patience {
 public:
  explicit Patience(double timeout_seconds) : timeout_(timeout_seconds) {}

  // Returns earlier if `fd` becomes readable.
  void pause(int fd = -1) {
    if (++pauses_ <= kYields) {
      sched_yield();
      return;
    }
    pollfd wait{fd, POLLIN, 0};  // of -1 it waits for the time alone
    const timespec time{0, std::chrono::nanoseconds(fd < 0 ? sleep_ : kWithFd).count()};
    ppoll(&wait, 1, &time, nullptr);
    sleep_ = std::min(sleep_ * 2, kLongest);
  }
  bool is_over() const { return std::chrono::steady_clock::now() - start_ > timeout_; }

 private:
  static constexpr int kYields = 50;
  static constexpr std::chrono::microseconds kLongest{500}, kWithFd{20000};

  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  std::chrono::duration<double> timeout_;
  std::chrono::microseconds sleep_{10};
  int pauses_ = 0;
};

}  // namespace megalith
