// The type of a value: element type, logical shape, layout. Equal local shapes prove nothing; only equal types do.
#pragma once
#include <string>

#include "mesh/layout.h"

namespace megalith {

struct Type {
  DType dtype = DType::f32;
  Shape shape;
  Layout layout;

  bool operator==(const Type&) const = default;
  int ndim() const { return int(shape.size()); }
  i64 dim(int d) const { return shape[d < 0 ? d + shape.size() : d]; }
  i64 elements() const { return count(shape); }
  i64 bytes() const { return elements() * size_of(dtype); }
  Type dual(DType cotangent_dtype) const { return {cotangent_dtype, shape, layout.dual()}; }
};
std::string to_string(const Type& t, AxisSet used = kAllAxes);  // "bf16[16, 8]{cp~ tp_kv,  | copy dp}"

// The part of one rank: the same type with the rank's sizes. Costs, kernels and buffers work on local types.
Type local_type(const Mesh& mesh, const Type& t);

}  // namespace megalith
