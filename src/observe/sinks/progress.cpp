#include "observe/sinks/progress.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "base/log.h"

namespace megalith {

std::string duration(double seconds) {
  if (!(seconds >= 0 && seconds < 1e12)) return "?";
  const i64 s = i64(std::llround(seconds)), minutes = s / 60, hours = minutes / 60;
  if (hours >= 24) return fmt::format("{}d {:02d}:{:02d}", hours / 24, hours % 24, minutes % 60);
  if (hours > 0) return fmt::format("{}:{:02d}:{:02d}", hours, minutes % 60, s % 60);
  return fmt::format("{}:{:02d}", minutes, s % 60);
}

static std::string bar(double part, int width) {
  const int full = std::clamp(int(part * width), 0, width);
  std::string s;
  for (int i = 0; i < width; ++i) s += i < full ? "█" : "░";
  return s;
}

static std::string short_number(double x) {
  if (!(x >= 1000)) return fmt::format("{:.0f}", x);
  return x < 1e6 ? fmt::format("{:.1f}k", x / 1e3) : fmt::format("{:.2f}M", x / 1e6);
}

std::string progress_line(const ProgressState& p, int columns) {
  constexpr int kWidestBar = 30, kNarrowestBar = 5;
  const double part = p.total > 0 ? double(p.step) / double(p.total) : 0;
  std::string head = fmt::format("step {}/{} ", p.step, p.total),
              tail = fmt::format("{:3.0f}%", std::floor(100 * part));
  const std::vector<std::string> parts{fmt::format(" | loss {:.4f}", p.loss),
                                       fmt::format(" | {} tokens/s", short_number(p.tokens_per_second)),
                                       fmt::format(" | {} left", duration(p.seconds_left))};
  const int room = std::max(0, columns - 1);  // the last column would wrap on some terminals
  for (const std::string& s : parts) {
    if (int(head.size() + tail.size() + s.size()) > room) break;
    tail += s;
  }
  const int left = room - int(head.size() + tail.size()) - 1;
  if (left >= kNarrowestBar) head += bar(part, std::min(left, kWidestBar)) + " ";
  const std::string line = head + tail;
  return left < 0 ? line.substr(0, size_t(room)) : line;  // without the bar all is ASCII
}

Progress::Progress(i64 first, i64 total, std::function<double()> now)
    : now_(std::move(now)), first_(first), started_(now_()), last_update_(started_), last_draw_(started_ - 1) {
  state_ = {.step = first, .total = total};
}

void Progress::finish() { log::set_status(""); }

void Progress::update(i64 step, double loss, i64 tokens) {
  constexpr double kNewShare = 0.1, kDrawEvery = 0.1;
  const double now = now_(), passed = std::max(now - last_update_, 1e-9), speed = double(tokens) / passed;
  const bool first_update = state_.step == first_;
  state_.step = step;
  state_.loss = loss;
  state_.tokens_per_second += (first_update ? 1 : kNewShare) * (speed - state_.tokens_per_second);
  state_.seconds_left =
      (now - started_) / double(std::max<i64>(1, step - first_)) * double(std::max<i64>(0, state_.total - step));
  last_update_ = now;
  if (now - last_draw_ < kDrawEvery && step < state_.total) return;
  last_draw_ = now;
  if (const int columns = log::terminal_columns(); columns > 0) log::set_status(progress_line(state_, columns));
}

}  // namespace megalith
