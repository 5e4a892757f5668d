// Reads boxes of a tensor from another node's memory. The right elements must arrive, with few other bytes.
#include "resume/far_box.h"

#include <gtest/gtest.h>

#include <cstring>
#include <numeric>
#include <random>

namespace megalith {
namespace {

// The box `offset`, `shape` of a tensor, as a slot holds it. The value of an element is its index.
std::vector<i32> slot_of(const Shape& whole, const Shape& offset, const Shape& shape) {
  std::vector<i32> all(size_t(count(whole))), part(size_t(count(shape)));
  std::iota(all.begin(), all.end(), 0);
  const Shape none(whole.size(), 0), steps = row_major_strides(whole), own = row_major_strides(shape);
  copy_common({none, whole, steps}, reinterpret_cast<const std::byte*>(all.data()), {offset, shape, own},
              reinterpret_cast<std::byte*>(part.data()), 4);
  return part;
}

struct Copied {
  std::vector<i32> values;
  i64 elements = 0, bytes = 0, requests = 0;
};

Copied copy(const Shape& whole, const Shape& from, const Shape& shape, const Shape& to, const Shape& wanted) {
  constexpr i64 kAt = 24;  // byte at which the box begins in the slot
  const std::vector<i32> slot = slot_of(whole, from, shape);
  const Shape box_steps = row_major_strides(shape), to_steps = row_major_strides(wanted);
  Copied c{.values = std::vector<i32>(size_t(count(wanted)), -1)};
  const ReadSlot read = [&](i64 at, std::span<std::byte> out) {
    ASSERT_GE(at, kAt);
    ASSERT_LE(at - kAt + i64(out.size()), i64(4 * slot.size()));
    std::memcpy(out.data(), reinterpret_cast<const std::byte*>(slot.data()) + at - kAt, out.size());
    c.bytes += i64(out.size()), ++c.requests;
  };
  c.elements = copy_far(read, kAt, {from, shape, box_steps}, {to, wanted, to_steps},
                        reinterpret_cast<std::byte*>(c.values.data()), 4);
  return c;
}

TEST(FarBox, GivesTheCommonElements) {
  std::mt19937 random(7);
  const auto at_most = [&](i64 n) { return i64(random() % std::uint32_t(n + 1)); };
  for (int i = 0; i < 2000; ++i) {
    const size_t rank = random() % 5;
    Shape whole(rank), from(rank), shape(rank), to(rank), wanted(rank);
    for (size_t d = 0; d < rank; ++d) {
      whole[d] = 1 + at_most(6);
      from[d] = at_most(whole[d] - 1), shape[d] = 1 + at_most(whole[d] - from[d] - 1);
      to[d] = at_most(whole[d] - 1), wanted[d] = 1 + at_most(whole[d] - to[d] - 1);
    }
    const Copied c = copy(whole, from, shape, to, wanted);
    std::vector<i32> expected(c.values.size(), -1);
    const std::vector<i32> slot = slot_of(whole, from, shape);
    const Shape box_steps = row_major_strides(shape), to_steps = row_major_strides(wanted);
    const i64 n = copy_common({from, shape, box_steps}, reinterpret_cast<const std::byte*>(slot.data()),
                              {to, wanted, to_steps}, reinterpret_cast<std::byte*>(expected.data()), 4);
    ASSERT_EQ(c.values, expected) << i;
    ASSERT_EQ(c.elements, n) << i;
  }
}

// Gate and up of SwiGLU are one tensor. A piece of one of them must not transfer the other's rows. Before the fix, a
// read on a shard of Llama 3 8B transferred 39 times the piece's bytes.
TEST(FarBox, ReadsOnlyThePieceOfALongRow) {
  const Shape whole{2, 3000, 256};
  const Copied piece = copy(whole, {0, 1000, 0}, {2, 1000, 256}, {1, 1200, 0}, {1, 64, 256});
  EXPECT_EQ(piece.elements, 64 * 256);
  EXPECT_EQ(piece.bytes, 4 * 64 * 256);
  EXPECT_EQ(piece.requests, 1);
  const Copied both = copy(whole, {0, 1000, 0}, {2, 1000, 256}, {0, 1200, 0}, {2, 64, 256});
  EXPECT_EQ(both.bytes, 2 * 4 * 64 * 256);
  EXPECT_EQ(both.requests, 2);
}

// One request reads several short runs, with the bytes between them.
TEST(FarBox, JoinsShortRuns) {
  const Copied c = copy({512, 64}, {0, 0}, {512, 64}, {128, 16}, {256, 8});
  EXPECT_EQ(c.elements, 256 * 8);
  EXPECT_EQ(c.requests, 1);
  EXPECT_EQ(c.bytes, 4 * 256 * 64);
}

}  // namespace
}  // namespace megalith
