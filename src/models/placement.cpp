#include "models/placement.h"

namespace megalith {

Layout layout_of(const Placement& p, int ndim, const ParallelStyle& style) {
  Layout l = whole(ndim);
  if (p.experts >= 0) {
    l.copy = groups::expert_data;
    l.dims[p.experts].add({groups::expert});
    if (p.expert_part >= 0)
      l.dims[p.expert_part].add({groups::expert_tensor});
    else
      l.copy.insert(groups::expert_tensor);
    return l;
  }
  l.copy = groups::data_context;
  if (p.split >= 0) {
    l.dims[p.split].add({groups::tensor});
  } else if (p.groups >= 0) {
    l.dims[p.groups].add({groups::kv_heads});
    if (p.heads >= 0)
      l.dims[p.heads].add({groups::query_heads});
    else
      l.copy.insert(groups::query_heads);
  } else if (p.own_part || (style.sequence_parallel && !p.alike)) {
    l.copy.insert(groups::tensor);
  }
  return l;
}

}  // namespace megalith
