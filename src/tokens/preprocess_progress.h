// The progress lines of preprocess-data, on stderr.
#pragma once
#include <chrono>

#include "tokens/preprocess.h"

namespace megalith {

class PreprocessProgress {
 public:
  // log_interval: the least number of documents between two lines, of which there is at most one per second.
  // file_bytes: the size of all input on disk; 0 if unknown.
  PreprocessProgress(i64 log_interval, i64 file_bytes) : log_interval_(log_interval), all_file_bytes_(file_bytes) {}

  // Adds finished work; its seconds do not count. file_bytes: the input that it read.
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
