// A thread that runs one task at a time for its owner.
#pragma once
#include <condition_variable>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>
#include <utility>

namespace megalith {

class Helper {
 public:
  // It finishes a started task before it ends.
  Helper() : thread_([this](const std::stop_token& end) { run(end); }) {}
  Helper(const Helper&) = delete;
  Helper& operator=(const Helper&) = delete;

  // Only while it does nothing: wait() comes before the next one.
  void start(std::function<void()> work) {
    const std::lock_guard lock(mutex_);
    work_ = std::move(work);
    changed_.notify_all();
  }
  // Waits until it is done; rethrows its exception.
  void wait() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return !work_; });
    if (error_) std::rethrow_exception(std::exchange(error_, nullptr));
  }

 private:
  void run(const std::stop_token& end) {
    std::unique_lock lock(mutex_);
    while (changed_.wait(lock, end, [this] { return bool(work_); })) {
      lock.unlock();
      std::exception_ptr error;
      try {
        work_();
      } catch (...) {
        error = std::current_exception();
      }
      lock.lock();
      work_ = nullptr, error_ = std::move(error);
      changed_.notify_all();
    }
  }

  std::mutex mutex_;
  std::condition_variable_any changed_;
  std::function<void()> work_;
  std::exception_ptr error_;
  std::jthread thread_;
};

}  // namespace megalith
