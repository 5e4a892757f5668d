// Loops over all cores. OpenMP, because oneDNN uses the same pool: never two sets of threads.
#pragma once
#include <omp.h>

#include <algorithm>
#include <exception>
#include <vector>

#include "base/dtype.h"

namespace megalith {

inline int num_threads() { return omp_get_max_threads(); }

// Calls f(begin, end) on consecutive parts of [0, n), at least `grain` long, one per thread. The cut depends on n,
// grain and the number of threads only.
template <class F>
void parallel_ranges(i64 n, i64 grain, F&& f) {
  const i64 parts = std::max<i64>(1, std::min<i64>(num_threads(), grain > 0 ? n / grain : n));
  if (parts == 1 || omp_in_parallel()) return f(i64{0}, n);
#pragma omp parallel num_threads(int(parts))
  {
    const i64 k = omp_get_thread_num();
    f(n * k / parts, n * (k + 1) / parts);
  }
}

// Calls f(i) for each i of [0, n); `grain` as above.
template <class F>
void parallel_for(i64 n, i64 grain, F&& f) {
  parallel_ranges(n, grain, [&](i64 begin, i64 end) {
    for (i64 i = begin; i < end; ++i) f(i);
  });
}

// Calls f(i) for each i of [0, n), which may take very different times; the earlier begin first. Throws what the lowest
// failing one threw, when all are done.
template <class F>
void parallel_tasks(i64 n, F&& f) {
  std::vector<std::exception_ptr> errors(std::size_t(std::max<i64>(n, 0)));
#pragma omp parallel for schedule(dynamic, 1) if (n > 1)
  for (i64 i = 0; i < n; ++i) {
    try {
      f(i);
    } catch (...) {
      errors[std::size_t(i)] = std::current_exception();
    }
  }
  for (const std::exception_ptr& error : errors)
    if (error) std::rethrow_exception(error);
}

}  // namespace megalith
