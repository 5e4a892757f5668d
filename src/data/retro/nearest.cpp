#include "data/retro/nearest.h"

#include <algorithm>

#include "base/threads.h"

namespace megalith {

static constexpr i64 kPointsAtOnce = 256;  // stay in cache while queries pass

NearestPoints::NearestPoints(std::vector<i16> queries, i64 size, i64 keep)
    : queries_(std::move(queries)),
      size_(size),
      keep_(keep),
      count_(i64(queries_.size()) / size),
      best_(std::size_t(count_)) {}

std::span<const i16> NearestPoints::query(i64 q) const {
  return std::span(queries_).subspan(std::size_t(q * size_), std::size_t(size_));
}

void NearestPoints::insert(i64 q, const Near& found) {
  std::vector<Near>& best = best_[std::size_t(q)];
  best.insert(std::ranges::upper_bound(best, found), found);
  if (i64(best.size()) > keep_) best.pop_back();
}

void NearestPoints::add(std::span<const i16> points, i64 first, const std::function<bool(i64, i64)>& may) {
  const i64 count = i64(points.size()) / size_;
  const auto point = [&](i64 p) { return points.subspan(std::size_t(p * size_), std::size_t(size_)); };
  std::vector<i64> squares(std::size_t(count), 0);
  parallel_for(count, 64, [&](i64 p) { squares[std::size_t(p)] = dot(point(p), point(p)); });
  parallel_ranges(count_, 1, [&](i64 begin, i64 end) {
    for (i64 p0 = 0; p0 < count; p0 += kPointsAtOnce)
      for (i64 q = begin; q < end; ++q) {
        const std::span<const i16> of_query = query(q);
        const i64 square = dot(of_query, of_query);
        for (i64 p = p0; p < std::min(count, p0 + kPointsAtOnce); ++p) {
          const Near found{square + squares[std::size_t(p)] - 2 * dot(of_query, point(p)), first + p};
          const std::vector<Near>& best = best_[std::size_t(q)];
          if (i64(best.size()) == keep_ && best.back() < found) continue;
          if (may(q, found.point)) insert(q, found);
        }
      }
  });
}

}  // namespace megalith
