#include "train/plan_alike.h"

#include <algorithm>

#include "comm/on_all_ranks.h"

namespace megalith {

PlannedStep plan_alike(const std::function<StepSpec()>& spec_of, const Backend& backend, Ranks& ranks) {
  StepSpec spec;
  PlannedStep step;
  on_all_ranks(ranks, [&] { spec = spec_of(), step = plan_step(spec, backend); });
  if (ranks.size() == 1) return step;
  const std::string again = fmt::format("{} again", spec.pipeline.stage);
  const std::vector<std::string> all = ranks.all_gather(step.casts_again ? again : "");
  on_all_ranks(ranks, [&] {
    if (step.casts_again || std::ranges::find(all, again) == all.end()) return;
    spec.casts_once = false, step = plan_step(spec, backend);
  });
  return step;
}

}  // namespace megalith
