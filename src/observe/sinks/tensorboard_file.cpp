#include "observe/sinks/tensorboard_file.h"

#include <unistd.h>

#include <chrono>

namespace megalith {

TensorBoardOrigin this_process() {
  char name[256] = {};
  if (gethostname(name, sizeof name - 1) != 0 || name[0] == '\0') return {.hostname = "localhost", .pid = getpid()};
  return {.hostname = name, .pid = getpid()};
}

// A unique name: two writers of one process and second need different files.
std::filesystem::path TensorBoardWriter::free_path(double started) const {
  for (i64 n = 0;; ++n) {
    const auto path =
        folder_ / fmt::format("events.out.tfevents.{:010d}.{}.{}.{}", i64(started), origin_.hostname, origin_.pid, n);
    std::error_code error;
    if (!std::filesystem::exists(path, error)) return path;
  }
}

TensorBoardWriter::TensorBoardWriter(const std::filesystem::path& folder, const TensorBoardOrigin& origin,
                                     double started)
    : folder_(folder), origin_(origin), file_(free_path(started), "TensorBoard file") {
  add(tfevents::start_event(started));
}

void TensorBoardWriter::add(std::string_view event) {
  constexpr size_t kMostWaiting = 1 << 16;
  waiting_ += tfevents::record(event);
  if (waiting_.size() > kMostWaiting) flush();
}

void TensorBoardWriter::scalar(std::string_view tag, double value, i64 step) {
  add(tfevents::scalar_event({origin_.now(), step}, tag, float(value)));
}
void TensorBoardWriter::text(std::string_view name, std::string_view text, i64 step) {
  add(tfevents::text_event({origin_.now(), step}, name, text));
}
void TensorBoardWriter::histogram(std::string_view tag, const tfevents::Histogram& histogram, i64 step) {
  add(tfevents::histogram_event({origin_.now(), step}, tag, histogram));
}
void TensorBoardWriter::flush() {
  if (waiting_.empty()) return;
  if (file_.is_removed())
    if (const double now = origin_.now(); file_.replace(free_path(now)))
      waiting_ = tfevents::record(tfevents::start_event(now)) + waiting_;
  file_.append(waiting_);
  waiting_.clear();
}

}  // namespace megalith
