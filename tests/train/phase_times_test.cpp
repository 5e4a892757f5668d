// Tests of a step's phase times by the clock of a device: the tags that the device receives, and the use of its
// seconds.
#include "observe/phase_times.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "exec/cpu/backend.h"
#include "settings/schedules.h"
#include "small_run.h"

namespace megalith {
namespace {

double of(const std::vector<NamedValue>& times, const std::string& name) {
  const auto it = std::ranges::find(times, name, &NamedValue::name);
  return it == times.end() ? -1 : it->value;
}

PlannedStep timed_step(const std::string& flags) {
  Options o = options_for(1, "--eval-iters 1 " + flags);
  return plan_step(step_spec(o), *make_cpu_backend());
}

TEST(PhaseTimes, AddUpWhatADeviceTells) {
  const PlannedStep step = timed_step("");
  PhaseTimes times(step.plan, 2);
  const TimeTags tags = times.tags();
  const int last = step.plan.index_of("last-micro-batch");
  EXPECT_TRUE(tags.ends_step[size_t(last)]);
  // The device reports one second for each interval of a tag.
  TagSeconds told{2, std::vector<double>(size_t(tags.count))};
  double all = 0;
  const std::vector<int>& of_last = tags.of[size_t(last)];
  for (size_t i = 0; i < of_last.size(); ++i)
    if (i + 1 == of_last.size() || of_last[i + 1] != of_last[i]) told.seconds[size_t(of_last[i])] += 1, all += 1;
  told.seconds[size_t(tags.before[size_t(last)])] += 4, all += 4;
  times.step_begins();
  times.hear(told);
  const auto heard = times.take();
  const double sum = of(heard, "forward-backward") + of(heard, "all-grads-sync") + of(heard, "params-all-gather") +
                     of(heard, "optimizer") + of(heard, "embedding-grads-all-reduce");
  EXPECT_DOUBLE_EQ(sum, all / 2) << "of two steps";
  EXPECT_DOUBLE_EQ(of(heard, "batch-generator"), 2);
  EXPECT_GT(of(heard, "forward-compute"), 0);
  EXPECT_GT(of(heard, "backward-compute"), 0);
  EXPECT_GT(of(heard, "optimizer-inner-step"), 0);
  times.hear(told);  // no new interval
  EXPECT_EQ(of(times.take(), "optimizer"), 0);
}

TEST(PhaseTimes, TellADeviceFewerTagsAtLevel1) {
  const PlannedStep step = timed_step("--log-params-norm");
  std::set<int> one, two;
  for (const auto& [level, found] : {std::pair(1, &one), std::pair(2, &two)}) {
    const TimeTags tags = PhaseTimes(step.plan, level).tags();
    for (size_t p = 0; p < tags.of.size(); ++p)
      if (step.plan.programs[p].name != "evaluate") found->insert(tags.of[p].begin(), tags.of[p].end());
    EXPECT_EQ(tags.ends_step[size_t(step.plan.index_of("last-micro-batch"))], false) << "the norm is behind it";
    const size_t evaluate = size_t(step.plan.index_of("evaluate"));
    EXPECT_EQ(tags.before[evaluate], -1);
    EXPECT_EQ(std::ranges::count(tags.of[evaluate], -1), std::ssize(tags.of[evaluate]));
    EXPECT_FALSE(found->contains(-1));
  }
  EXPECT_LT(one.size(), two.size());
}

}  // namespace
}  // namespace megalith
