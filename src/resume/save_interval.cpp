#include "resume/save_interval.h"

#include <algorithm>
#include <cstring>

#include "base/log.h"
#include "resume/save_spacing.h"

namespace megalith {

namespace {

SaveTimes longest(Ranks& ranks, const SaveTimes& mine) {
  SaveTimes out;
  for (const std::string& text : ranks.all_gather(std::string(reinterpret_cast<const char*>(&mine), sizeof mine))) {
    SaveTimes told;
    check(text.size() == sizeof told, "a rank sent its save time in {} bytes, expected {}", text.size(), sizeof told);
    std::memcpy(&told, text.data(), sizeof told);
    out.stall = std::max(out.stall, told.stall), out.step_seconds = std::max(out.step_seconds, told.step_seconds);
  }
  return out;
}

}  // namespace

SaveInterval::SaveInterval(const TrainConfig& t, Ranks& ranks, i64 begin)
    : ranks_(ranks),
      on_(!t.save.empty() && t.save_interval == kAutoSaveInterval),
      failure_seconds_(t.gpu_mtbf_hours * 3600 / double(ranks.size())),
      from_(begin) {
  if (on_) due_ = begin + kFirst;
}

void SaveInterval::pause() {
  if (runs_) trained_ += std::chrono::duration<double>(std::chrono::steady_clock::now() - resumed_).count();
  runs_ = false;
}

void SaveInterval::resume() {
  if (!runs_) resumed_ = std::chrono::steady_clock::now();
  runs_ = true;
}

void SaveInterval::saved(i64 iteration, double stall) {
  if (!on_) return;
  const SaveTimes all = longest(ranks_, {stall, trained_ / double(std::max<i64>(1, iteration - from_))});
  due_ = iteration + save_spacing_steps(all.stall, failure_seconds_, all.step_seconds);
  from_ = iteration, trained_ = 0;
  log::say(
      "  the next save is at iteration {}: this one delayed training by {:.6g} s, a step takes {:.6g} s, and one "
      "of {} ranks fails every {:.6g} hours",
      due_, all.stall, all.step_seconds, ranks_.size(), failure_seconds_ / 3600);
}

}  // namespace megalith
