// Tests of the neighbour search's dot products, computed by the device's program, here on the CPU. The neighbours must
// equal those of integer products.
#include "cli/device_products.h"

#include "exec/cpu/backend.h"
#include "tests/data/held_neighbors.h"

namespace megalith {
namespace {

TEST(DeviceProducts, FilesOfNeighborsHaveTheSameBytes) {
  for (const i64 size : {64, 512}) {
    DeviceProducts products(make_cpu_backend(), 100, 300, size);  // neither divides the corpus size
    EXPECT_EQ(products.most_points(), 320);
    hold_neighbors(products, size);
  }
}

// The largest accepted sums are 2^24 - 2^16, and the same with a last 1.
TEST(DeviceProducts, LargestSumsAreExact) {
  constexpr i64 size = 255;
  ASSERT_TRUE(has_exact_products(size, 256, 256));
  std::vector<i16> queries(2 * size, i16(256)), points(2 * size, i16(-256));
  queries[size] = 1, points[size] = 1;
  DeviceProducts products(make_cpu_backend(), 2, 2, size);
  products.set_points(points);
  const std::span<const float> found = products.multiply(queries);
  EXPECT_EQ(found[0], -255.0f * 65536);
  EXPECT_EQ(found[1], -254.0f * 65536 + 256);
  EXPECT_EQ(found[64], -254.0f * 65536 - 256);
  EXPECT_EQ(found[65], -254.0f * 65536 + 1);
}

}  // namespace
}  // namespace megalith
