#include "ops/relative_positions.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>

namespace megalith {

int relative_bucket(i64 delta, bool both_sides, i64 buckets, i64 max_distance) {
  const i64 side = both_sides ? buckets / 2 : buckets, exact = side / 2;
  const i64 base = both_sides && delta > 0 ? side : 0;
  const i64 distance = both_sides ? std::abs(delta) : std::max<i64>(0, -delta);
  if (distance < exact) return int(base + distance);
  // In f32, like the programs that train such models.
  const float scale = float(std::log(double(max_distance) / double(exact)));
  const float share = std::log(float(distance) / float(exact)) / scale * float(side - exact);
  return int(base + std::min(side - 1, exact + i64(share)));
}

void check_relative_buckets(bool both_sides, i64 buckets, i64 max_distance) {
  const i64 side = both_sides ? buckets / 2 : buckets;
  check(buckets % 2 == 0 && side >= 2, "{} buckets of relative positions: want an even number, {} or more", buckets,
        both_sides ? 4 : 2);
  check(max_distance > side / 2, "a largest relative distance of {}: want more than {}, as {} buckets have one each",
        max_distance, side / 2, side / 2);
}

}  // namespace megalith
