#include "train/stop_requests.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <sstream>

#include "base/log.h"

namespace megalith {
namespace {

constexpr double kBetweenLooks = 0.05;  // seconds between exchanges, if steps are shorter

int number_of(ExitSignal signal) {
  constexpr int kNumbers[] = {SIGTERM, SIGINT, SIGUSR1, SIGUSR2, SIGHUP};
  return kNumbers[int(signal)];
}

std::string name_of(int signal) { return fmt::format("SIG{}", sigabbrev_np(signal)); }

}  // namespace

// What a rank sends. `minutes` and `stride` count from the first rank only: its clock, and the iterations until the
// next exchange.
struct StopRequests::Word {
  i64 saves = 0;
  int signal = 0;
  double minutes = 0;
  i64 stride = 1;

  std::string text() const { return fmt::format("{} {} {} {}", saves, signal, minutes, stride); }
  static Word from_text(const std::string& text) {
    Word w;
    std::istringstream(text) >> w.saves >> w.signal >> w.minutes >> w.stride;
    return w;
  }
};

StopRequests::StopRequests(const Options& options, Ranks& ranks)
    : ranks_(ranks),
      exit_signal_(number_of(options.train.exit_signal)),
      most_minutes_(options.train.exit_duration_in_mins),
      signals_(exit_signal_, options.given.has("exit-signal")) {
  std::vector<std::string> ignored;
  for (const int signal : signals_.ignored()) ignored.push_back(name_of(signal));
  if (!ignored.empty())
    log::say("  {} stays ignored, as when the program was started: a signal in --exit-signal is never ignored",
             fmt::join(ignored, ", "));
}

double StopRequests::minutes() const {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - began_).count() / 60;
}

bool StopRequests::look(i64 iteration) {
  to_save_ = false;
  if (iteration < next_) return false;
  const auto now = std::chrono::steady_clock::now();
  // The time of a step is known from the second exchange on, as a run may begin at any iteration.
  const double seconds = looked_at_ < 0
                             ? kBetweenLooks
                             : std::chrono::duration<double>(now - looked_).count() / double(iteration - looked_at_);
  looked_ = now, looked_at_ = iteration;
  const Word mine{.saves = signals_.saves(),
                  .signal = signals_.leaving(),
                  .minutes = minutes(),
                  .stride = std::clamp<i64>(i64(kBetweenLooks / std::max(seconds, 1e-6)), 1, 1000)};
  const std::vector<std::string> all = ranks_.all_gather(mine.text());
  const Word first = Word::from_text(all[0]);
  next_ = iteration + first.stride;
  time_is_up_ = most_minutes_ > 0 && first.minutes >= most_minutes_;
  std::vector<i64> told;
  for (const std::string& text : all) {
    const Word w = Word::from_text(text);
    if (signal_ == 0) signal_ = w.signal;
    told.push_back(w.saves);
  }
  to_save_ = requests_.anew(told, first.minutes);
  return to_save_ || to_leave();
}

std::string StopRequests::reason() const {
  if (signal_ != 0) return fmt::format("after receiving {}.", name_of(signal_));
  return fmt::format("after {:.3f} minutes", minutes());
}

int StopRequests::exit_code(bool is_saved) const {
  if (signal_ == SIGUSR2) return kRequeue;  // also if it is --exit-signal: its senders expect this code
  const bool is_polite = signal_ == exit_signal_ || signal_ == SIGTERM;
  return is_polite && is_saved ? 0 : 128 + signal_;
}

}  // namespace megalith
