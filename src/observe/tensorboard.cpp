#include "observe/tensorboard.h"

#include <unistd.h>

#include <chrono>

#include "observe/log_line.h"

namespace megalith {

double unix_seconds() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

TensorBoardOrigin this_process() {
  char name[256] = {};
  if (gethostname(name, sizeof name - 1) != 0 || name[0] == '\0') return {.hostname = "localhost", .pid = getpid()};
  return {.hostname = name, .pid = getpid()};
}

// A name that is not taken, so that two writers of one process and second have a file each.
static std::filesystem::path free_path(const std::filesystem::path& folder, const TensorBoardOrigin& origin,
                                       double started) {
  for (i64 n = 0;; ++n) {
    const auto path =
        folder / fmt::format("events.out.tfevents.{:010d}.{}.{}.{}", i64(started), origin.hostname, origin.pid, n);
    std::error_code error;
    if (!std::filesystem::exists(path, error)) return path;
  }
}

TensorBoardWriter::TensorBoardWriter(const std::filesystem::path& folder, const TensorBoardOrigin& origin,
                                     double started)
    : now_(origin.now), file_(free_path(folder, origin, started), "TensorBoard file") {
  add(tfevents::start_event(started));
}

void TensorBoardWriter::add(std::string_view event) {
  constexpr size_t kMostWaiting = 1 << 16;
  waiting_ += tfevents::record(event);
  if (waiting_.size() > kMostWaiting) flush();
}

void TensorBoardWriter::scalar(std::string_view tag, double value, i64 step) {
  add(tfevents::scalar_event({now_(), step}, tag, float(value)));
}
void TensorBoardWriter::text(std::string_view name, std::string_view text, i64 step) {
  add(tfevents::text_event({now_(), step}, name, text));
}
void TensorBoardWriter::histogram(std::string_view tag, const tfevents::Histogram& histogram, i64 step) {
  add(tfevents::histogram_event({now_(), step}, tag, histogram));
}
void TensorBoardWriter::flush() {
  if (!waiting_.empty()) file_.append(waiting_);
  waiting_.clear();
}

void write_iteration(TensorBoardWriter& writer, const IterationRecord& r, const TensorBoardTags& tags) {
  const auto both = [&](const std::string& tag, double value) {
    writer.scalar(tag, value, r.iteration);
    writer.scalar(tag + " vs samples", value, r.consumed_samples);
  };
  both("learning-rate", r.learning_rate);
  if (r.skipped_samples > 0) writer.scalar("skipped-train-samples", double(r.skipped_samples), r.iteration);
  both("batch-size", double(r.global_batch_size));
  for (const NamedValue& loss : r.losses) both(loss.name, loss.value);
  if (tags.loss_scale) both("loss-scale", r.loss_scale);
  if (tags.world_size) both("world-size", double(*tags.world_size));
  if (r.grad_norm) both("grad-norm", *r.grad_norm);
  if (r.num_zeros) both("num-zeros", double(*r.num_zeros));
  if (r.params_norm) both("params-norm", *r.params_norm);
}

void write_interval(TensorBoardWriter& writer, i64 iteration, const Interval& interval, std::optional<double> tflops) {
  writer.scalar("iteration-time", interval.seconds_per_iteration, iteration);
  if (tflops) writer.scalar("throughput", *tflops, iteration);
}

void write_validation(TensorBoardWriter& writer, const IterationRecord& at, std::span<const NamedValue> losses,
                      const TensorBoardTags& tags) {
  for (const NamedValue& loss : losses) {
    const std::string tag = loss.name + " validation" + tags.validation_set;
    writer.scalar(tag, loss.value, at.iteration);
    writer.scalar(tag + " vs samples", loss.value, at.consumed_samples);
    if (!tags.validation_perplexity) continue;
    writer.scalar(tag + " ppl", perplexity(loss.value), at.iteration);
    writer.scalar(tag + " ppl vs samples", perplexity(loss.value), at.consumed_samples);
  }
}

void write_arguments(TensorBoardWriter& writer, std::span<const std::pair<std::string, std::string>> arguments,
                     i64 iteration) {
  for (const auto& [name, value] : arguments) writer.text(name, value, iteration);
}

}  // namespace megalith
