// --timing-log-level: what the ranks' clocks say, with each line and behind each save and evaluation.
#pragma once
#include <optional>
#include <string>

#include "comm/ranks.h"
#include "observe/phase_times.h"
#include "observe/timing_block.h"

namespace megalith {

class TimingLog {
 public:
  // `phases`: runs can be looked into.
  TimingLog(const TrainConfig& train, const Plan& plan, Ranks& ranks, bool phases)
      : option_(train.timing_log_option), ranks_(ranks) {
    if (phases) phases_.emplace(plan, int(train.timing_log_level));
  }
  RunWatch* watch() { return phases_ ? &*phases_ : nullptr; }
  void step_begins() {
    if (phases_) phases_->step_begins();
  }
  void step_ends() {
    if (phases_) phases_->step_ends();
  }
  // Of all ranks at the same place; nothing where there is nothing to tell.
  std::string interval() { return phases_ ? block(phases_->take()) : ""; }
  std::string of(const std::string& name, double seconds) { return block({{name, seconds}}); }

 private:
  std::string block(const std::vector<NamedValue>& mine) {
    std::vector<std::vector<NamedValue>> all;
    for (const std::string& text : ranks_.all_gather(timing_text(mine))) all.push_back(timing_of_text(text));
    return timing_block(all, option_);
  }
  TimingLogOption option_;
  Ranks& ranks_;
  std::optional<PhaseTimes> phases_;
};

}  // namespace megalith
