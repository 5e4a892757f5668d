#include "observe/sinks/console.h"

#include <fmt/chrono.h>

#include <cmath>

#include "base/log.h"
#include "base/number_text.h"

namespace megalith {

static std::string timestamp(WallTime time) {
  const auto seconds = std::chrono::floor<std::chrono::seconds>(time);
  const auto micros = std::chrono::duration_cast<std::chrono::microseconds>(time - seconds).count();
  return fmt::format("{:%Y-%m-%d %H:%M:%S}.{:06d}", fmt::localtime(std::chrono::system_clock::to_time_t(seconds)),
                     micros);
}

std::string iteration_line(WallTime time, const Record& r, const TrainConfig& train) {
  std::string s = fmt::format(" [{}] iteration {:8d}/{:8d} |", timestamp(time), r.iteration, r.train_iters);
  for (const MetricValue& v : r.values) {
    const OnConsole& form = v.metric->console;
    if (form.name.empty() || (form.asked && !(train.*form.asked))) continue;
    const double x = v.interval * form.scale;
    s += fmt::format(" {}: {} |", shown_name(form.name, v),
                     v.metric->whole ? fmt::format(fmt::runtime(form.format), i64(x)) : number_text(x, form.format));
  }
  return s;
}

std::string validation_lines(std::string_view where, std::span<const NamedValue> losses, std::string_view suffix) {
  std::string s = fmt::format(" validation{} loss at {} | ", suffix, where);
  for (const NamedValue& loss : losses)
    s += fmt::format("{0} value: {1} | {0} PPL: {2} | ", loss.name, number_text(loss.value),
                     number_text(perplexity(loss.value)));
  const std::string dashes(s.size() + 1, '-');
  return dashes + "\n" + s + "\n" + dashes;
}

double perplexity(double loss) { return std::exp(loss > 20 ? 20 : loss); }

void Console::take(const Record& record) {
  if (record.ends_interval || record.is_first)
    log::say("{}", iteration_line(std::chrono::system_clock::now(), record, train_));
}

void Console::take_evaluation(const Evaluated& e) { log::say("{}", validation_lines(e.where, e.losses, e.set)); }

}  // namespace megalith
