// What preprocess-data says while it works, on stderr.
#pragma once
#include <chrono>

#include "tokens/preprocess.h"

namespace megalith {

class PreprocessProgress {
 public:
  // log_interval: documents between two lines at least, which come once a second at most. file_bytes: of all input, as
  // it lies on disk; 0 if unknown.
  PreprocessProgress(i64 log_interval, i64 file_bytes) : log_interval_(log_interval), all_file_bytes_(file_bytes) {}

  // A part of the work that is done; its seconds do not count. file_bytes: of input that it took.
  void add(const PreprocessResult& done, i64 file_bytes);

  PreprocessResult result() const { return so_far_; }

 private:
  using Clock = std::chrono::steady_clock;

  i64 log_interval_, all_file_bytes_;
  i64 next_documents_ = 0, file_bytes_ = 0;
  double next_seconds_ = 1;
  Clock::time_point start_ = Clock::now();
  PreprocessResult so_far_;
};

// "1:02:03" for 3723 seconds.
std::string clock_text(double seconds);

}  // namespace megalith
