// The transfers whose times Interpreter::tell_reductions reports.
#pragma once
#include "graph/relayout_op.h"
#include "mesh/groups.h"

namespace megalith {

inline bool is_data_reduction(const Mesh& mesh, const AnyOp& op) {
  const auto* r = op.get_if<Relayout>();
  return r && (r->transfer == Transfer::all_reduce || r->transfer == Transfer::reduce_scatter) &&
         groups::data_context.has(r->axes) && mesh.n(r->axes) > 1;
}

}  // namespace megalith
