// The exact nearest points of a database: products of all queries with all points, block by block.
#pragma once
#include <functional>
#include <span>
#include <vector>

#include "data/retro/point_products.h"

namespace megalith {

struct Near {
  i64 distance = 0;  // its square
  i64 point = 0;
  auto operator<=>(const Near&) const = default;  // at equal distances the lower index comes first
};

class NearestPoints {
 public:
  // queries: rows of `size` numbers. Keeps the `keep` nearest points of each. `products`: of a device. With nullptr,
  // or if the device's products would not be exact, integer products on this CPU are used. The result is the same.
  NearestPoints(std::vector<i16> queries, i64 size, i64 keep, PointProducts* products = nullptr);

  i64 queries() const { return count_; }
  // Compares all queries with points first, first + 1, ... `may(query, point)`: whether the point is allowed as a
  // result. Several threads call it.
  void add(std::span<const i16> points, i64 first, const std::function<bool(i64 query, i64 point)>& may);
  // The nearest points, nearest first. Fewer than `keep` if there are no more.
  const std::vector<Near>& of(i64 query) const { return best_[std::size_t(query)]; }

 private:
  struct Added;  // the arguments of add()
  std::span<const i16> rows(std::span<const i16> of, i64 begin, i64 end) const;
  std::vector<i64> squares_of(std::span<const i16> points) const;
  void insert(i64 q, const Near& found);
  template <class Product>
  void hold(const Added& added, i64 q, i64 begin, i64 end, const Product& product);
  void add_by_cpu(const Added& added);
  void add_by_device(const Added& added);

  const std::vector<i16> queries_;
  const i64 size_, keep_, count_;
  PointProducts* const products_;
  const i64 largest_;  // largest absolute number of the queries
  const std::vector<i64> squares_;
  std::vector<std::vector<Near>> best_;
};

}  // namespace megalith
