// Builds a blend index with several threads, although each choice of the rule depends on all choices before it.
//
// The rule soon forgets its start: from any approximate start it makes the exact choices after a few hundred samples.
// So each part except the first starts from a guess. Then the exact choices are continued from the end of the previous
// part, until they agree with the part's choices. From there on the part is exact. If they never agree, the whole part
// is computed again. The result is the same as of BlendIndex's constructor. A task computes one part in each lane of
// BlendLanes.
#pragma once
#include "data/blend_index.h"

namespace megalith {

class BlendBuilder {
 public:
  explicit BlendBuilder(BlendPlan plan);

  i64 parts() const { return i64(starts_.size()) - 1; }
  i64 tasks() const { return (parts() + parts_of_a_task_ - 1) / parts_of_a_task_; }
  void make(i64 task);  // call once for each task, in any order and on any threads
  BlendIndex finish();  // call after all tasks

 private:
  std::vector<i64> guess(i64 sample) const;
  void make_part(i64 part);
  void make_in_lanes(i64 begin, i64 end);

  BlendIndex index_;
  i64 parts_of_a_task_ = 1;
  std::vector<i64> starts_;  // first mark of each part, then the end
};

}  // namespace megalith
