// Trains a faiss index. Its bytes are those of one thread, for any number of threads.
#pragma once
#include <faiss/Index.h>
#include <omp.h>

#include "base/dtype.h"

namespace megalith {

// During its lifetime the faiss loops of this thread use one thread.
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
