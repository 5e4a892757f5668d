#include "observe/log_line.h"

#include <fmt/chrono.h>

#include <cmath>

namespace megalith {

static std::string timestamp(WallTime time) {
  const auto seconds = std::chrono::floor<std::chrono::seconds>(time);
  const auto micros = std::chrono::duration_cast<std::chrono::microseconds>(time - seconds).count();
  return fmt::format("{:%Y-%m-%d %H:%M:%S}.{:06d}", fmt::localtime(std::chrono::system_clock::to_time_t(seconds)),
                     micros);
}

std::string iteration_line(WallTime time, const IterationRecord& r, const Interval& interval,
                           const std::optional<Speed>& speed) {
  std::string s;
  const auto add = [&]<class... A>(fmt::format_string<A...> text, A&&... args) {
    fmt::format_to(std::back_inserter(s), text, std::forward<A>(args)...);
  };
  add(" [{}] iteration {:8d}/{:8d} |", timestamp(time), r.iteration, r.train_iters);
  add(" consumed samples: {:12d} |", r.consumed_samples);
  if (r.skipped_samples > 0) add(" skipped samples: {:12d} |", r.skipped_samples);
  add(" elapsed time per iteration (ms): {:.1f} |", interval.seconds_per_iteration * 1000);
  if (speed && speed->tflops) add(" throughput per GPU (TFLOP/s/GPU): {:.1f} |", *speed->tflops);
  if (speed) add(" tokens per second per GPU: {:.1f} |", speed->tokens_per_second / speed->devices);
  if (speed && speed->mfu) add(" MFU (%): {:.1f} |", 100 * *speed->mfu);
  if (speed) add(" data wait per iteration (ms): {:.1f} |", speed->data_wait * 1000);
  add(" learning rate: {:.6E} |", r.learning_rate);
  add(" global batch size: {:5d} |", r.global_batch_size);
  for (const NamedValue& loss : interval.mean_losses) add(" {}: {:.6E} |", loss.name, loss.value);
  add(" loss scale: {:.1f} |", r.loss_scale);
  if (r.grad_norm) add(" grad norm: {:.3f} |", *r.grad_norm);
  if (r.num_zeros) add(" num zeros: {} |", *r.num_zeros);
  if (r.params_norm) add(" params norm: {:.3f} |", *r.params_norm);
  add(" number of skipped iterations: {:3d} |", interval.skipped);
  add(" number of nan iterations: {:3d} |", interval.nan);
  return s;
}

std::string validation_lines(std::string_view where, std::span<const NamedValue> losses, std::string_view suffix) {
  std::string s = fmt::format(" validation{} loss at {} | ", suffix, where);
  for (const NamedValue& loss : losses)
    s += fmt::format("{0} value: {1:.6E} | {0} PPL: {2:.6E} | ", loss.name, loss.value, perplexity(loss.value));
  const std::string dashes(s.size() + 1, '-');
  return dashes + "\n" + s + "\n" + dashes;
}

double perplexity(double loss) { return std::exp(loss > 20 ? 20 : loss); }

}  // namespace megalith
