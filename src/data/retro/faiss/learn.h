// How an index of faiss learns. It has the bytes of one thread with any number of them.
#pragma once
#include <faiss/Index.h>
#include <omp.h>

#include "base/dtype.h"

namespace megalith {

// While it lives, the loops of faiss that this thread starts have one thread.
class OneThread {
 public:
  OneThread() { omp_set_num_threads(1); }
  ~OneThread() { omp_set_num_threads(threads_); }
  OneThread(const OneThread&) = delete;
  OneThread& operator=(const OneThread&) = delete;

 private:
  const int threads_ = omp_get_max_threads();
};

void learn(faiss::Index& index, i64 n, const float* points);

}  // namespace megalith
