// Every pipeline schedule that tests walk over: stages 1..8, chunks 1..4, micro-batches up to 32, groups, weights split
// or not.
#pragma once
#include <fmt/core.h>

#include <set>
#include <string>
#include <vector>

#include "plan/schedule.h"

namespace megalith {

inline std::vector<ScheduleSpec> all_schedules() {
  std::vector<ScheduleSpec> specs;
  for (int p = 1; p <= 8; ++p)
    for (int m = 1; m <= 32; ++m)
      for (bool split : {false, true}) {
        specs.push_back({p, 1, m, 0, split});
        if (p == 1 || m < p) continue;
        for (int v = 2; v <= 4; ++v)
          for (int group : std::set{p, p + 1, (m + 1) / 2, m})
            if (group >= p && group <= m && (m % group == 0 || m % group >= p))
              specs.push_back({p, v, m, group, split});
      }
  return specs;
}

inline std::string text(const ScheduleSpec& s) {
  return fmt::format("stages {}, chunks {}, micro-batches {}, group {}, split {}", s.stages, s.chunks, s.micro_batches,
                     s.group, s.split_weights);
}

inline std::vector<TaskList> all_stages(const ScheduleSpec& spec) {
  std::vector<TaskList> lists;
  for (int s = 0; s < spec.stages; ++s) lists.push_back(schedule(spec, s));
  return lists;
}

}  // namespace megalith
