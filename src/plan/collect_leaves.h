// The leaves of a plan: state that lives from run to run, and values that one program keeps for another.
#pragma once
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "plan/plan.h"

namespace megalith {

using WorkspaceOf = std::function<i64(const Graph&, const Node&)>;

// A leaf of a value that another program, another rank or a later micro-batch reads.
struct KeptLeaf {
  std::string name;
  Role role = Role::kept;  // once: of a step's first micro-batch, for the others
};
using Kept = std::map<std::pair<const Graph*, Value>, KeptLeaf>;
Kept find_kept(const std::vector<ProgramSpec>& programs);

// The value whose memory v shares, through in-place ops and views.
Value memory_of(const Graph& g, Value v);

// The bytes of one rank's part.
i64 local_bytes(const Mesh& mesh, const Type& t);

// The leaf of a relayout's workspace that another program ends. It is kept until then.
std::string kept_workspace(const std::string& program, Value result);

// Adds the leaves of all programs to the plan, with their offsets.
void collect_leaves(Plan& plan, const std::vector<ProgramSpec>& programs, const Kept& kept,
                    const WorkspaceOf& workspace);

}  // namespace megalith
