// --timing-log-level: the ranks' phase times, at each log line and after each save and evaluation.
#pragma once
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "comm/ranks.h"
#include "observe/phase_times.h"
#include "observe/timing_block.h"
#include "plan/interpreter.h"

namespace megalith {

class TimingLog {
 public:
  // `in_step`: the host can read clocks inside a step. Otherwise the device may measure itself.
  TimingLog(const TrainConfig& train, const Plan& plan, Ranks& ranks, Interpreter& device, bool in_step)
      : option_(train.timing_log_option),
        ranks_(ranks),
        device_(device),
        in_step_(in_step),
        asks_device_(!in_step && train.timing_log_level > 0) {
    phases_.emplace(plan, int(train.timing_log_level));
    if (asks_device_ && !device.time_by_tags(phases_->tags())) phases_.reset();
  }
  RunWatch* watch() { return phases_ && in_step_ ? &*phases_ : nullptr; }
  bool has_phases() const { return phases_.has_value(); }
  void step_begins() {
    if (!phases_) return;
    if (asks_device_) device_.skip_time();
    phases_->step_begins();
  }
  void step_ends() {
    if (phases_) phases_->step_ends();
  }
  // Collective. Returns "" if there is nothing to report.
  std::string interval() {
    if (!phases_) return "";
    if (asks_device_) phases_->hear(device_.tag_seconds());
    last_ = phases_->take();
    return block(last_);
  }
  std::span<const NamedValue> last() const { return last_; }  // this rank's times, from interval()
  std::string of(const std::string& name, double seconds) { return block({{name, seconds}}); }

 private:
  std::string block(const std::vector<NamedValue>& mine) {
    std::vector<std::vector<NamedValue>> all;
    for (const std::string& text : ranks_.all_gather(timing_text(mine))) all.push_back(timing_of_text(text));
    return timing_block(all, option_);
  }
  TimingLogOption option_;
  Ranks& ranks_;
  Interpreter& device_;
  bool in_step_, asks_device_;
  std::optional<PhaseTimes> phases_;
  std::vector<NamedValue> last_;
};

}  // namespace megalith
