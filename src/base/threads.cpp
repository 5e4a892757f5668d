// A waiting thread spins for a part of a millisecond, because the next loop usually comes that soon. Then it sleeps, so
// that other programs can use the core. (OpenMP's threads spin for milliseconds.)
#include "base/threads.h"

#include <memory>
#include <thread>

namespace megalith {

namespace {

constexpr int kLooks = 200'000;  // some 100 to 200 microseconds

// Waits until x differs from `old`; returns the new value.
u32 changed(const std::atomic<u32>& x, u32 old) {
  for (int i = 0; i < kLooks; ++i)
    if (const u32 now = x.load(std::memory_order_acquire); now != old) return now;
  x.wait(old, std::memory_order_acquire);
  return x.load(std::memory_order_acquire);
}

thread_local bool within_part = false;

class ThreadPool : public std::enable_shared_from_this<ThreadPool> {
 public:
  void stop() {
    stop_ = true;
    ++call_;
    call_.notify_all();
  }

  void run(i64 parts, void (*f)(const void*, i64), const void* of) {
    while (threads_ + 1 < std::min<i64>(parts, num_threads()))
      ++threads_, std::thread([pool = shared_from_this(), call = call_.load()] { pool->work(call); }).detach();
    f_ = f, of_ = of, parts_ = u32(parts);
    unfinished_.store(u32(parts), std::memory_order_relaxed);
    const u32 call = call_.load(std::memory_order_relaxed) + 1;
    left_.store(u64{call} << 32 | u32(parts), std::memory_order_release);
    call_.store(call);
    call_.notify_all();
    while (take()) {
    }
    for (u32 n = unfinished_.load(std::memory_order_acquire); n != 0; n = changed(unfinished_, n)) {
    }
  }

 private:
  // Runs a part that no thread has taken; false if there is none. The part's caller waits for it, so its data stay
  // valid.
  bool take() noexcept {
    u64 left = left_.load(std::memory_order_acquire);
    do {
      if (u32(left) == 0) return false;
    } while (!left_.compare_exchange_weak(left, left - 1, std::memory_order_acq_rel, std::memory_order_acquire));
    within_part = true;
    f_(of_, parts_ - u32(left));
    within_part = false;
    if (unfinished_.fetch_sub(1, std::memory_order_acq_rel) == 1) unfinished_.notify_one();
    return true;
  }

  void work(u32 call) {
    for (;;) {
      call = changed(call_, call);
      if (stop_) return;
      while (take()) {
      }
    }
  }

  void (*f_)(const void*, i64) = nullptr;
  const void* of_ = nullptr;
  u32 parts_ = 0;
  alignas(64) std::atomic<u64> left_ =
      0;  // the call's number, so that no part of another call is taken; remaining parts
  alignas(64) std::atomic<u32> unfinished_ = 0;
  alignas(64) std::atomic<u32> call_ = 0;  // threads wait for the next
  std::atomic<bool> stop_ = false;
  i64 threads_ = 0;  // in addition to the caller
};

// A calling thread's pool. Its threads end when they can: a forked process does not have them to wait for.
struct Owned {
  std::shared_ptr<ThreadPool> pool = std::make_shared<ThreadPool>();
  ~Owned() { pool->stop(); }
};

}  // namespace

void run_parts(i64 parts, void (*f)(const void* of, i64 part), const void* of) {
  if (parts <= 1 || within_part || num_threads() == 1) {
    for (i64 i = 0; i < parts; ++i) f(of, i);
    return;
  }
  thread_local const Owned own;
  own.pool->run(parts, f, of);
}

}  // namespace megalith
