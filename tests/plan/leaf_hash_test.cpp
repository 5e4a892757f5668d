// Hashes of leaves: the same under every layout, another one for every flipped bit.
#include "plan/leaf_hash.h"

#include <gtest/gtest.h>

#include <cstring>
#include <random>
#include <set>

#include "mesh/mesh.h"

namespace megalith {
namespace {

std::vector<std::byte> random_bytes(i64 n) {
  std::mt19937_64 random{7};
  std::vector<std::byte> out(static_cast<size_t>(n));
  for (std::byte& b : out) b = std::byte(random());
  return out;
}

// The block of the rank at `coord`, of a tensor in row-major order.
std::vector<std::byte> block_of(const Type& t, const Mesh& mesh, const Coord& coord,
                                const std::vector<std::byte>& tensor) {
  const std::vector<i64> rows = indices(mesh, t.shape, t.layout, coord, 0),
                         columns = indices(mesh, t.shape, t.layout, coord, 1);
  const i64 size = size_of(t.dtype);
  std::vector<std::byte> out;
  for (const i64 r : rows)
    for (const i64 c : columns) {
      const std::byte* at = tensor.data() + (r * t.dim(1) + c) * size;
      out.insert(out.end(), at, at + size);
    }
  return out;
}

}  // namespace

TEST(LeafHash, OfPartsAddsUpToThatOfTheWhole) {
  constexpr i64 kRows = 24, kColumns = 40;
  for (const DType dtype : {DType::bf16, DType::f32, DType::f64}) {
    Mesh mesh;
    const std::vector<std::byte> tensor = random_bytes(kRows * kColumns * size_of(dtype));
    const Type whole_type{dtype, {kRows, kColumns}, whole(2)};
    const u64 expected = hash_block(whole_type, mesh, Coord{}, tensor.data());
    mesh.size[size_t(Axis::cp_edp)] = 2, mesh.size[size_t(Axis::tp_kv_edp)] = 4;
    for (const auto& dims :
         std::vector<std::vector<AxisList>>{{{{Axis::tp_kv_edp}}, {}},
                                            {{}, {{Axis::tp_kv_edp}}},
                                            {{{Axis::cp_edp, Order::zigzag}}, {{Axis::tp_kv_edp}}}}) {
      const Type t{dtype, {kRows, kColumns}, {dims, {}, {}, {}}};
      u64 sum = 0;
      for (int cp = 0; cp < 2; ++cp)
        for (int tp = 0; tp < 4; ++tp) {
          Coord coord{};
          coord[int(Axis::cp_edp)] = cp, coord[int(Axis::tp_kv_edp)] = tp;
          if (cp > 0 && !t.layout.state(Axis::cp_edp).is_split()) continue;  // a copy
          sum += hash_block(t, mesh, coord, block_of(t, mesh, coord, tensor).data());
        }
      EXPECT_EQ(sum, expected) << to_string(t);
    }
  }
}

TEST(LeafHash, ChangesWithEveryBit) {
  const Mesh mesh;
  const Type t{DType::bf16, {5, 7}, whole(2)};
  std::vector<std::byte> tensor = random_bytes(t.bytes());
  std::set<u64> seen{hash_block(t, mesh, Coord{}, tensor.data())};
  for (i64 bit = 0; bit < 8 * t.bytes(); ++bit) {
    tensor[size_t(bit / 8)] ^= std::byte(1 << (bit % 8));
    EXPECT_TRUE(seen.insert(hash_block(t, mesh, Coord{}, tensor.data())).second) << bit;
    tensor[size_t(bit / 8)] ^= std::byte(1 << (bit % 8));
  }
  std::swap(tensor[0], tensor[2]), std::swap(tensor[1], tensor[3]);  // two elements change places
  EXPECT_TRUE(seen.insert(hash_block(t, mesh, Coord{}, tensor.data())).second);
}

}  // namespace megalith
