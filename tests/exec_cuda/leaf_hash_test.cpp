// Hashes of leaves by the GPU are those by the host. Skipped where there is no GPU.
#include "exec/cuda/leaf_hash.h"

#include <gtest/gtest.h>

#include <random>

#include "plan/leaf_hash.h"

namespace megalith::cuda {

TEST(CudaLeafHash, IsTheHosts) {
  const Device device{0, ""};
  Mesh mesh;
  mesh.size[size_t(Axis::cp_edp)] = 2, mesh.size[size_t(Axis::tp_kv_edp)] = 4;
  Coord coord{};
  coord[int(Axis::cp_edp)] = 1, coord[int(Axis::tp_kv_edp)] = 3;
  std::mt19937_64 random{5};
  LeafHashes hashes;
  for (const DType dtype : {DType::u8, DType::bf16, DType::u16, DType::f32, DType::f64})
    for (const Type& t : {Type{dtype, {4099}, whole(1)}, Type{dtype, {1, 1 << 20}, whole(2)},
                          Type{dtype, {24, 40}, {{{{Axis::cp_edp, Order::zigzag}}, {{Axis::tp_kv_edp}}}, {}, {}, {}}},
                          Type{dtype, {8, 12, 20}, {{{{Axis::tp_kv_edp}}, {}, {{Axis::cp_edp}}}, {}, {}, {}}}}) {
      const i64 bytes = local_type(mesh, t).bytes();
      std::vector<std::byte> block(static_cast<size_t>(bytes));
      for (std::byte& b : block) b = std::byte(random());
      const DeviceMemory there = try_device_memory(bytes);
      ASSERT_TRUE(there);
      check_cuda(cudaMemcpy(there.get(), block.data(), size_t(bytes), cudaMemcpyDefault), "test");
      const std::vector<LeafHashes::Block> twice(2, {t, there.get()});
      const u64 expected = hash_block(t, mesh, coord, block.data());
      EXPECT_EQ(hashes.of(twice, mesh, coord, device.stream()), (std::vector<u64>{expected, expected})) << to_string(t);
    }
}

}  // namespace megalith::cuda
