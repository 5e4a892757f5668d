// Products of blocks of points by a device, which NearestPoints asks for.
#pragma once
#include <span>

#include "data/retro/bag_sketch.h"

namespace megalith {

class PointProducts {
 public:
  virtual ~PointProducts() = default;
  virtual i64 most_queries() const = 0;  // of one call
  virtual i64 most_points() const = 0;
  // The points of the calls that follow: rows of numbers, at most so many.
  virtual void set_points(std::span<const i16> points) = 0;
  // Their products with the queries, [queries, most_points()]: columns behind the last point mean nothing. They stay
  // until the next call.
  virtual std::span<const float> multiply(std::span<const i16> queries) = 0;
};

// The largest number, whatever its sign.
i64 largest_of(std::span<const i16> numbers);
// Whether products of points of `size` numbers, up to `a` and `b`, are exact from bf16 with sums in f32. Then each
// number has a bf16 of its own, and all sums are whole numbers of f32 in whatever order.
bool has_exact_products(i64 size, i64 a, i64 b);

}  // namespace megalith
