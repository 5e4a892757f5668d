#include "base/in_parallel.h"

#include <exception>
#include <mutex>
#include <thread>
#include <vector>

namespace megalith {

void in_parallel(int n, const std::function<void(int)>& f) {
  if (n == 1) return f(0);
  std::mutex mutex;
  std::exception_ptr error;
  std::vector<std::jthread> threads;
  for (int i = 0; i < n; ++i)
    threads.emplace_back([&, i] {
      try {
        f(i);
      } catch (...) {
        const std::lock_guard lock(mutex);
        if (!error) error = std::current_exception();
      }
    });
  threads.clear();
  if (error) std::rethrow_exception(error);
}

}  // namespace megalith
