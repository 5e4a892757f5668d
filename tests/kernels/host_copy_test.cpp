// Copies values to host memory and back, to the bit: a rank's part of them, and nothing around it.
#include <gtest/gtest.h>

#include "base/rng.h"
#include "ops/host_copy.h"
#include "tests/kernels/under_test.h"

namespace megalith::kernel_tests {

namespace {

constexpr size_t kAround = 64;

std::vector<std::byte> random_bytes(size_t n, u64 seed) {
  std::vector<std::byte> out(n);
  for (size_t i = 0; i < n; ++i) out[i] = std::byte(mix_all(seed, i64(i)) & 0xff);
  return out;
}

// A bf16 value split over two ranks, as the first of them sees it.
KernelContext context(const Shape& shape, bool store) {
  Type t{DType::bf16, shape, whole(int(shape.size()))};
  t.layout.dims[0].add({groups::kv_heads});
  KernelContext s{{make_mesh({1, 1, 2, 1}), {}}, {t}, {t}};
  if (store) s.ins.push_back(t);
  return s;
}

}  // namespace

TEST(HostCopy, stores_and_fetches_a_ranks_part) {
  for (const Shape& shape : {Shape{2, 1}, Shape{6, 3, 5}, Shape{64, 33, 129}}) {
    const KernelContext there = context(shape, true), back = context(shape, false);
    const size_t bytes = size_t(there.in_bytes(0));
    ASSERT_EQ(bytes, size_t(count(shape)));  // two bytes for each element, of half of them
    std::vector<std::byte> value = random_bytes(bytes, 1), leaf = random_bytes(bytes + kAround, 2);
    const std::vector<std::byte> was = value, around(leaf.begin() + i64(bytes), leaf.end());
    prepare_tested(HostStore{}, there).run({{value.data(), leaf.data()}, {value.data()}});
    EXPECT_EQ(value, was);
    EXPECT_EQ(std::vector(leaf.begin(), leaf.begin() + i64(bytes)), value);
    EXPECT_EQ(std::vector(leaf.begin() + i64(bytes), leaf.end()), around);
    std::vector<std::byte> fetched = random_bytes(bytes + kAround, 3);
    const std::vector<std::byte> beside(fetched.begin() + i64(bytes), fetched.end());
    prepare_tested(HostFetch{}, back).run({{leaf.data()}, {fetched.data()}});
    EXPECT_EQ(std::vector(fetched.begin(), fetched.begin() + i64(bytes)), value);
    EXPECT_EQ(std::vector(fetched.begin() + i64(bytes), fetched.end()), beside);
  }
}

}  // namespace megalith::kernel_tests
