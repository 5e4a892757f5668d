// A blend index made by several threads, though each choice of the rule depends on all before it.
//
// The rule soon forgets where it began: from any start that is about right it makes the same choices as from the true
// one after a few hundred samples. So every part but the first begins with a guess. Afterwards the true choices are
// made from the end of the part before it, until they meet the part's own. From there on the part's own are true.
// Should they never meet, the whole part is made again. The result is that of BlendIndex's constructor. So many parts
// can be made at once that a task makes one in each lane of BlendLanes.
#pragma once
#include "data/blend_index.h"

namespace megalith {

class BlendBuilder {
 public:
  explicit BlendBuilder(BlendPlan plan);

  i64 parts() const { return i64(starts_.size()) - 1; }
  i64 tasks() const { return (parts() + parts_of_a_task_ - 1) / parts_of_a_task_; }
  void make(i64 task);  // each task once, in any order, by any threads
  BlendIndex finish();  // when all are made

 private:
  std::vector<i64> guess(i64 sample) const;
  void make_part(i64 part);
  void make_in_lanes(i64 begin, i64 end);

  BlendIndex index_;
  i64 parts_of_a_task_ = 1;
  std::vector<i64> starts_;  // marks at which the parts begin and, last, the end
};

}  // namespace megalith
