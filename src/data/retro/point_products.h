// Products of blocks of points on a device, for NearestPoints.
#pragma once
#include <span>

#include "data/retro/bag_sketch.h"

namespace megalith {

class PointProducts {
 public:
  virtual ~PointProducts() = default;
  virtual i64 most_queries() const = 0;  // limit of one call
  virtual i64 most_points() const = 0;
  // Sets the points of the following calls: rows of numbers, at most most_points() of them.
  virtual void set_points(std::span<const i16> points) = 0;
  // Products of the points with the queries, [queries, most_points()]. Columns after the last point are undefined.
  // The result is valid until the next call.
  virtual std::span<const float> multiply(std::span<const i16> queries) = 0;
};

// The largest absolute value.
i64 largest_of(std::span<const i16> numbers);
// Whether products of points of `size` numbers, up to `a` and `b`, are exact in bf16 with f32 sums. Then each number is
// exact in bf16. All partial sums, in any order, are integers that are exact in f32.
bool has_exact_products(i64 size, i64 a, i64 b);

}  // namespace megalith
