// Leaves of small graphs on a mesh whose axes all stand in the types.
#pragma once
#include "graph/builder.h"
#include "tests/error_of.h"

namespace megalith {

// A leaf with these states over tp (tk, tr) and, for dims listed in `dp`, a split over dp.
inline Value leaf(Builder& b, const std::string& name, Shape shape, State tp, bool wants_grad = true,
                  AxisSet copy = {}) {
  Layout l = whole(shape.size());
  for (Axis a : tensor_parallel_axes()) {
    if (tp.is_split()) l.dims[tp.dim].push_back({a});
    if (tp == kPartial) l.partial.insert(a);
    if (tp == kCopy) l.copy.insert(a);
  }
  for (Axis a : copy.list()) l.copy.insert(a);
  return b.leaf({name, {DType::f64, std::move(shape), std::move(l)}, Role::input, wants_grad});
}

}  // namespace megalith
