#include "data/retro/nearest.h"

#include <algorithm>
#include <limits>

#include "base/threads.h"

namespace megalith {

static constexpr i64 kPointsAtOnce = 256;  // this many points stay in cache for all queries

struct NearestPoints::Added {
  std::span<const i16> points;
  i64 first;
  const std::function<bool(i64, i64)>& may;
  i64 count;
  std::vector<i64> squares;
};

NearestPoints::NearestPoints(std::vector<i16> queries, i64 size, i64 keep, PointProducts* products)
    : queries_(std::move(queries)),
      size_(size),
      keep_(keep),
      count_(i64(queries_.size()) / size),
      products_(products),
      largest_(largest_of(queries_)),
      squares_(squares_of(queries_)),
      best_(std::size_t(count_)) {}

std::span<const i16> NearestPoints::rows(std::span<const i16> of, i64 begin, i64 end) const {
  return of.subspan(std::size_t(begin * size_), std::size_t((end - begin) * size_));
}

std::vector<i64> NearestPoints::squares_of(std::span<const i16> points) const {
  std::vector<i64> out(points.size() / std::size_t(size_));
  parallel_for(i64(out.size()), 64, [&](i64 p) {
    const std::span<const i16> point = rows(points, p, p + 1);
    out[std::size_t(p)] = dot(point, point);
  });
  return out;
}

void NearestPoints::insert(i64 q, const Near& found) {
  std::vector<Near>& best = best_[std::size_t(q)];
  best.insert(std::ranges::upper_bound(best, found), found);
  if (i64(best.size()) > keep_) best.pop_back();
}

// Compares query q with the points [begin, end); product(p): dot product with point p.
template <class Product>
void NearestPoints::hold(const Added& added, i64 q, i64 begin, i64 end, const Product& product) {
  constexpr i64 kFar = std::numeric_limits<i64>::max();
  const std::vector<Near>& best = best_[std::size_t(q)];
  const auto last_of_best = [&] { return i64(best.size()) == keep_ ? best.back() : Near{kFar, kFar}; };
  const i64 square = squares_[std::size_t(q)];
  Near last = last_of_best();
  for (i64 p = begin; p < end; ++p) {
    const Near found{square + added.squares[std::size_t(p)] - 2 * product(p), added.first + p};
    if (last < found || !added.may(q, found.point)) continue;
    insert(q, found);
    last = last_of_best();
  }
}

void NearestPoints::add_by_cpu(const Added& added) {
  parallel_ranges(count_, 1, [&](i64 begin, i64 end) {
    for (i64 p0 = 0; p0 < added.count; p0 += kPointsAtOnce)
      for (i64 q = begin; q < end; ++q) {
        const std::span<const i16> query = rows(queries_, q, q + 1);
        hold(added, q, p0, std::min(added.count, p0 + kPointsAtOnce),
             [&](i64 p) { return dot(query, rows(added.points, p, p + 1)); });
      }
  });
}

void NearestPoints::add_by_device(const Added& added) {
  const i64 points = products_->most_points(), queries = products_->most_queries();
  for (i64 p0 = 0; p0 < added.count; p0 += points) {
    const i64 p1 = std::min(added.count, p0 + points);
    products_->set_points(rows(added.points, p0, p1));
    for (i64 q0 = 0; q0 < count_; q0 += queries) {
      const i64 q1 = std::min(count_, q0 + queries);
      const std::span<const float> found = products_->multiply(rows(queries_, q0, q1));
      parallel_for(q1 - q0, 1, [&](i64 q) {
        const float* row = found.data() + q * points;
        hold(added, q0 + q, p0, p1, [&](i64 p) { return i64(row[p - p0]); });
      });
    }
  }
}

void NearestPoints::add(std::span<const i16> points, i64 first, const std::function<bool(i64, i64)>& may) {
  const Added added{points, first, may, i64(points.size()) / size_, squares_of(points)};
  if (products_ && has_exact_products(size_, largest_, largest_of(points)))
    add_by_device(added);
  else
    add_by_cpu(added);
}

}  // namespace megalith
