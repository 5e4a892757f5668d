#include "models/placement.h"

namespace megalith {

Layout layout_of(const Placement& p, int ndim, const ParallelStyle& style) {
  Layout l = whole(ndim);
  l.copy = {Axis::dp, Axis::cp};
  const auto& tp = tensor_parallel_axes();
  if (p.split >= 0) {
    for (Axis a : tp) l.dims[p.split].push_back({a});
  } else if (p.groups >= 0) {
    l.dims[p.groups].push_back({Axis::tk});
    if (p.heads >= 0)
      l.dims[p.heads].push_back({Axis::tr});
    else
      l.copy.insert(Axis::tr);
  } else if (p.own_part || (style.sequence_parallel && !p.alike)) {
    for (Axis a : tp) l.copy.insert(a);
  }
  return l;
}

}  // namespace megalith
