#include "tokens/preprocess_progress.h"

#include "base/log.h"

namespace megalith {

std::string clock_text(double seconds) {
  const i64 s = i64(seconds);
  return fmt::format("{}:{:02}:{:02}", s / 3600, s / 60 % 60, s % 60);
}

void PreprocessProgress::add(const PreprocessResult& done, i64 file_bytes) {
  PreprocessResult& r = so_far_;
  r.documents += done.documents;
  r.tokens += done.tokens;
  r.bytes += done.bytes;
  r.bad_lines += done.bad_lines;
  r.seconds = std::chrono::duration<double>(Clock::now() - start_).count();
  file_bytes_ += file_bytes;
  if (r.documents < next_documents_ || r.seconds < next_seconds_) return;
  next_documents_ = r.documents + log_interval_;
  next_seconds_ = r.seconds + 1;
  const double left = file_bytes_ > 0 ? r.seconds * double(all_file_bytes_ - file_bytes_) / double(file_bytes_) : 0;
  log::info("Processed {} documents, {} tokens ({:.0f} docs/s, {:.2f} MB/s, {:.2f} M tokens/s){}", r.documents,
            r.tokens, double(r.documents) / r.seconds, double(r.bytes) / r.seconds / 1e6,
            double(r.tokens) / r.seconds / 1e6, left >= 1 ? ", " + clock_text(left) + " left" : "");
}

}  // namespace megalith
