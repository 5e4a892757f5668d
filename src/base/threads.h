// Loops over all cores, on the threads of `run_parts`.
#pragma once
#include <omp.h>

#include <algorithm>
#include <atomic>
#include <exception>
#include <vector>

#include "base/dtype.h"

namespace megalith {

// From OMP_NUM_THREADS or omp_set_num_threads; by default one for each core.
inline int num_threads() { return omp_get_max_threads(); }

// Calls f(of, i) for each i of [0, parts), lower ones first. The caller and its threads, `num_threads` in all, take
// one part after another. A thread that other programs keep from its core takes none, and the others continue without
// it. Each calling thread has its own threads; inside a part the caller runs all parts itself.
void run_parts(i64 parts, void (*f)(const void* of, i64 part), const void* of);

template <class F>
void run_parts(i64 parts, const F& f) {
  run_parts(
      parts, [](const void* of, i64 part) { (*static_cast<const F*>(of))(part); }, &f);
}

// Calls f(begin, end) on consecutive parts of [0, n), at least `grain` long, one per thread. The cut depends on n,
// grain and the number of threads only.
template <class F>
void parallel_ranges(i64 n, i64 grain, F&& f) {
  const i64 parts = std::max<i64>(1, std::min<i64>(num_threads(), grain > 0 ? n / grain : n));
  if (parts == 1) return f(i64{0}, n);
  run_parts(parts, [&](i64 k) { f(n * k / parts, n * (k + 1) / parts); });
}

// Calls f(i) for each i of [0, n); `grain` as above.
template <class F>
void parallel_for(i64 n, i64 grain, F&& f) {
  parallel_ranges(n, grain, [&](i64 begin, i64 end) {
    for (i64 i = begin; i < end; ++i) f(i);
  });
}

// Calls f(i) for each i of [0, n), which may take very different times; lower ones begin first. When all are done it
// rethrows the exception of the lowest failing one.
template <class F>
void parallel_tasks(i64 n, F&& f) {
  std::vector<std::exception_ptr> errors(std::size_t(std::max<i64>(n, 0)));
  std::atomic<i64> next = 0;
  run_parts(std::min<i64>(n, num_threads()), [&](i64) {
    for (i64 i; (i = next++) < n;) try {
        f(i);
      } catch (...) {
        errors[std::size_t(i)] = std::current_exception();
      }
  });
  for (const std::exception_ptr& error : errors)
    if (error) std::rethrow_exception(error);
}

}  // namespace megalith
