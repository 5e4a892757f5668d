// Neighbours found with a GPU's products are the same, to the byte, as with integer products on the CPU.
#include "cli/device_products.h"
#include "device/make_backend.h"
#include "exec/cuda/backend.h"
#include "tests/data/held_neighbors.h"

namespace megalith {
namespace {

TEST(CudaRetro, FilesOfNeighborsHaveTheCpusBytes) {
  if (cuda_device_count() == 0) GTEST_SKIP() << "[  SKIPPED ] no GPU here";
  for (const i64 size : {64, 512}) {
    DeviceProducts small(make_backend({"cuda", "none"}), 100, 300, size);
    hold_neighbors(small, size);
    DeviceProducts whole(make_backend({"cuda", "none"}), 8192, 8192, size);
    hold_neighbors(whole, size);
  }
}

}  // namespace
}  // namespace megalith
