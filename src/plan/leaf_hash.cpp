#include "plan/leaf_hash.h"

#include <atomic>
#include <cstring>

#include "base/rng.h"
#include "base/threads.h"

namespace megalith {

static u64 bits_at(const std::byte* at, i64 bytes) {
  u64 bits = 0;
  std::memcpy(&bits, at, size_t(bytes));
  return bits;
}

u64 hash_block(const Type& type, const Mesh& mesh, const Coord& coord, const std::byte* block) {
  const i64 element = size_of(type.dtype);
  if (type.ndim() == 0) return mix(0, bits_at(block, element));
  std::vector<std::vector<i64>> index;
  i64 elements = 1;
  for (int d = 0; d < type.ndim(); ++d) {
    index.push_back(indices(mesh, type.shape, type.layout, coord, d));
    elements *= i64(index.back().size());
  }
  const std::vector<i64>& last = index.back();
  const i64 row = i64(last.size());
  const auto key_of = [&](i64 r) {
    u64 h = 0;
    i64 block_rows = elements / row;
    for (int d = 0; d + 1 < type.ndim(); ++d) {
      block_rows /= i64(index[size_t(d)].size());
      h = mix(h, u64(index[size_t(d)][size_t(r / block_rows)]));
      r %= block_rows;
    }
    return h;
  };
  constexpr i64 kGrain = i64{1} << 14;
  std::atomic<u64> sum = 0;
  if (elements == 0) return 0;
  parallel_ranges(elements, kGrain, [&](i64 begin, i64 end) {
    u64 part = 0;
    for (i64 i = begin; i < end;) {
      const u64 h = key_of(i / row);
      for (i64 k = i % row; k < row && i < end; ++k, ++i)
        part += mix(mix(h, u64(last[size_t(k)])), bits_at(block + i * element, element));
    }
    sum += part;
  });
  return sum;
}

std::vector<u64> hash_leaves(Interpreter& interpreter, const Mesh& mesh, const Coord& coord,
                             std::span<const Leaf* const> leaves) {
  if (auto* device = dynamic_cast<HashesLeaves*>(&interpreter)) return device->hash(leaves);
  std::vector<u64> out;
  std::vector<std::byte> copy;
  for (const Leaf* leaf : leaves) {
    const std::byte* seen = interpreter.host_view(*leaf);
    if (!seen) {
      copy.resize(size_t(leaf->bytes));
      interpreter.read(*leaf, copy.data());
      seen = copy.data();
    }
    out.push_back(hash_block(leaf->type, mesh, coord, seen));
  }
  return out;
}

}  // namespace megalith
