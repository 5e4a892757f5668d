#include "train/background_save.h"

#include <fmt/format.h>

#include <chrono>
#include <exception>

#include "base/check.h"
#include "base/one_line.h"

namespace megalith {

BackgroundSave::BackgroundSave(Ranks& ranks, SaveSteps steps, std::unique_ptr<PartWriter> writer, bool own,
                               std::function<void()> ready)
    : ranks_(ranks), steps_(std::move(steps)), writer_(std::move(writer)), own_(own), ready_(std::move(ready)) {
  start([this] { return makes_it() ? steps_.begin() : ""; });
}

// A run that ends by an error leaves no thread behind; what is unfinished is removed by the next run.
BackgroundSave::~BackgroundSave() {
  if (work_.valid()) work_.wait();
}

void BackgroundSave::start(std::function<std::string()> f) {
  work_ = std::async(std::launch::async, [f = std::move(f)] {
    try {
      return fmt::format("+{}", f());
    } catch (const std::exception& e) {
      return fmt::format("-{}", one_line(e));
    }
  });
}

std::optional<BackgroundSave::Outcome> BackgroundSave::poll() {
  const bool done = work_.wait_for(std::chrono::seconds(0)) == std::future_status::ready;
  const std::vector<std::string> states = ranks_.all_gather(done ? "done" : "");
  for (const std::string& state : states)
    if (state.empty()) return std::nullopt;
  return advance(ranks_.all_gather(work_.get()));
}

BackgroundSave::Outcome BackgroundSave::wait() {
  for (;;)
    if (auto outcome = advance(ranks_.all_gather(work_.get()))) return *outcome;
}

// All ranks have ended the phase, and told how.
std::optional<BackgroundSave::Outcome> BackgroundSave::advance(const std::vector<std::string>& told) {
  std::vector<std::string> texts;
  for (size_t r = 0; r < told.size(); ++r) {
    texts.push_back(told[r].substr(1));
    if (told[r].starts_with('+')) continue;
    if (makes_it()) steps_.abandon(temporary_);
    return Outcome{ranks_.size() == 1 ? texts.back() : fmt::format("rank {}: {}", r, texts.back())};
  }
  if (phase_ == Phase::tidying) return Outcome{};
  if (phase_ == Phase::beginning) {
    phase_ = Phase::writing;
    temporary_ = texts[size_t(own_ ? ranks_.rank() : 0)];
    start([this] {
      ready_();
      return writer_->write(temporary_);
    });
    return std::nullopt;
  }
  if (phase_ == Phase::writing) {
    phase_ = Phase::committing;
    if (own_) texts = {texts[size_t(ranks_.rank())]};
    start([this, accounts = std::move(texts)] {
      if (makes_it()) steps_.commit(*writer_, temporary_, accounts);
      return "";
    });
    return std::nullopt;
  }
  phase_ = Phase::tidying;  // old ones go when no rank needs them any more
  start([this] {
    if (makes_it()) steps_.tidy();
    return "";
  });
  return std::nullopt;
}

}  // namespace megalith
