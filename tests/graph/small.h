// Leaves of small graphs on a mesh whose axes all stand in the types.
#pragma once
#include "graph/builder.h"
#include "tests/error_of.h"

namespace megalith {

// A leaf with these states over tp (tp_kv, tp_rep) and, for dims listed in `dp`, a split over dp.
inline Value leaf(Builder& b, const std::string& name, Shape shape, State tp, bool wants_grad = true,
                  AxisSet copy = {}) {
  Layout l = whole(shape.size());
  if (tp.is_split()) l.dims[tp.dim].add({groups::tensor});
  if (tp == kPartial) l.partial.insert(groups::tensor);
  if (tp == kCopy) l.copy.insert(groups::tensor);
  l.copy.insert(copy);
  return b.leaf({name, {DType::f64, std::move(shape), std::move(l)}, Role::input, wants_grad});
}

}  // namespace megalith
