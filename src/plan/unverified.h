// For a search over layouts: the run itself verifies the plan that is chosen.
#pragma once
#include <functional>

#include "plan/plan.h"

namespace megalith {

// plan_memory() without verify().
Plan plan_memory_unverified(const Mesh& mesh, const std::vector<ProgramSpec>& programs,
                            const std::function<i64(const Graph&, const Node&)>& workspace);

// A backend that knows in advance which ops need no workspace for any operands.
class TellsWorkspaces {
 public:
  virtual ~TellsWorkspaces() = default;
  virtual bool may_need_workspace(const AnyOp& op) const = 0;
};

}  // namespace megalith
