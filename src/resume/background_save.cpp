#include "resume/background_save.h"

#include <fmt/format.h>

#include <chrono>
#include <exception>

#include "base/log.h"
#include "base/one_line.h"

namespace megalith {

static std::string failed(const std::exception& e) { return fmt::format("-{}", one_line(e)); }

BackgroundSave::BackgroundSave(Ranks& ranks, SaveSteps steps, bool own,
                               const std::function<std::unique_ptr<PartWriter>()>& prepare, std::function<void()> ready)
    : ranks_(ranks), steps_(std::move(steps)), own_(own), ready_(std::move(ready)) {
  try {
    writer_ = prepare();
  } catch (const std::exception& e) {
    state_ = failed(e);
    return;
  }
  start([this] { return makes_it() ? steps_.begin() : ""; });
}

// If a run ends with an error, no thread may keep running. The next run removes unfinished files.
BackgroundSave::~BackgroundSave() {
  if (work_.valid()) work_.wait();
}

void BackgroundSave::start(std::function<std::string()> f) {
  state_.clear();
  try {
    work_ = std::async(std::launch::async, std::move(f));
  } catch (const std::exception& e) {  // the system cannot start a thread
    state_ = failed(e);
  }
}

std::optional<BackgroundSave::Outcome> BackgroundSave::poll() {
  take_result();
  const std::vector<std::string> states = ranks_.all_gather(state_);
  for (const std::string& state : states)
    if (state.empty()) return std::nullopt;
  return advance(states);
}

// An exchange has a time limit, so ranks that write for longer take part in several exchanges. A rank reports the end
// of its write immediately.
BackgroundSave::Outcome BackgroundSave::wait() {
  constexpr std::chrono::milliseconds kLongestExchange{50};
  for (;;) {
    if (state_.empty()) work_.wait_for(kLongestExchange);
    if (auto outcome = poll()) return *outcome;
  }
}

void BackgroundSave::take_result() {
  if (!state_.empty() || work_.wait_for(std::chrono::seconds(0)) != std::future_status::ready) return;
  try {
    result_ = work_.get();
    state_ = phase_ == Phase::beginning ? "+" + result_ : "+";
  } catch (const std::exception& e) {
    state_ = failed(e);
  }
}

// All ranks have ended the phase and reported.
std::optional<BackgroundSave::Outcome> BackgroundSave::advance(const std::vector<std::string>& states) {
  if (phase_ == Phase::abandoning) return Outcome{error_};
  for (size_t r = 0; r < states.size(); ++r) {
    if (states[r].starts_with('+')) continue;
    const std::string what = states[r].substr(1);
    error_ = ranks_.size() == 1 ? what : fmt::format("rank {}: {}", r, what);
    if (phase_ == Phase::tidying) {  // the checkpoint is complete
      log::warn("[save] old checkpoints stay until the next save: {}", error_);
      return Outcome{};
    }
    phase_ = Phase::abandoning;  // in the background: removal may wait for dirty pages
    start([this] {
      if (makes_it()) steps_.abandon();
      return "";
    });
    return std::nullopt;
  }
  if (phase_ == Phase::tidying) return Outcome{};
  if (phase_ == Phase::beginning) {
    phase_ = Phase::writing;
    start([this, at = own_ ? result_ : states[0].substr(1)] {
      ready_();
      return writer_->write(at);
    });
  } else if (phase_ == Phase::writing) {
    phase_ = Phase::committing;
    start([this, accounts = own_ ? std::vector{result_} : ranks_.gather(result_)] {
      if (makes_it()) steps_.commit(*writer_, accounts);
      return "";
    });
  } else {
    phase_ = Phase::tidying;  // old checkpoints are deleted when no rank needs them
    start([this] {
      if (makes_it()) steps_.tidy();
      return "";
    });
  }
  return std::nullopt;
}

}  // namespace megalith
