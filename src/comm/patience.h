// How polling loops wait: first by yielding the core, then by sleeping, as other ranks may need this very core.
#pragma once
#include <sched.h>

#include <algorithm>
#include <chrono>
#include <thread>

namespace megalith {

class Patience {
 public:
  explicit Patience(double timeout_seconds) : timeout_(timeout_seconds) {}

  void pause() {
    if (++pauses_ <= kYields) {
      sched_yield();
      return;
    }
    std::this_thread::sleep_for(sleep_);
    sleep_ = std::min(sleep_ * 2, kLongest);
  }
  bool is_over() const { return std::chrono::steady_clock::now() - start_ > timeout_; }

 private:
  static constexpr int kYields = 50;
  static constexpr std::chrono::microseconds kLongest{500};

  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  std::chrono::duration<double> timeout_;
  std::chrono::microseconds sleep_{10};
  int pauses_ = 0;
};

}  // namespace megalith
