// State that comes before the plan's memory is there. Skipped where there is no GPU.
#include "exec/cuda/held_parts.h"

#include <gtest/gtest.h>

namespace megalith::cuda {
namespace {

constexpr i64 kArena = 1 << 20;

struct HeldState : testing::Test {
  Device device{0, ""};
  Leaf a{"a", Type{}, Role::optimizer}, b{"b", Type{}, Role::optimizer};
  HeldState() { a.offset = 0, b.offset = 8192; }

  std::vector<u8> arena_of(const std::byte* arena) const {
    std::vector<u8> out(kArena);
    check_cuda(cudaMemcpy(out.data(), arena, size_t(kArena), cudaMemcpyDefault), "test");
    return out;
  }
};

}  // namespace

TEST_F(HeldState, GoesToItsPlaceAndNowhereElse) {
  const DeferredMemory::Part parts[] = {{&a, 100, 1000}, {&b, 0, 7}, {&a, 4096, 300}};
  const DeviceMemory arena = try_device_memory(kArena);
  check_cuda(cudaMemsetAsync(arena.get(), 9, size_t(kArena), device.stream()), "test");
  HeldParts held(device, parts);
  EXPECT_EQ(held.bytes(), HeldParts::bytes_of(parts));
  check_cuda(cudaMemsetAsync(held.at(a, 100, 400), 1, 400, device.stream()), "test");
  check_cuda(cudaMemsetAsync(held.at(a, 500, 600), 2, 600, device.stream()), "test");
  check_cuda(cudaMemsetAsync(held.at(b, 0, 7), 3, 7, device.stream()), "test");
  held.move_to(arena.get());
  const std::vector<u8> now = arena_of(arena.get());
  for (i64 i = 0; i < kArena; ++i) {
    const u8 wanted = i >= 100 && i < 500     ? 1
                      : i >= 500 && i < 1100  ? 2
                      : i >= 8192 && i < 8199 ? 3
                      : i >= 4096 && i < 4396 ? 0  // not written
                                              : 9;
    ASSERT_EQ(now[size_t(i)], wanted) << i;
  }
}

TEST_F(HeldState, HasNoPlaceForOtherBytes) {
  const DeferredMemory::Part parts[] = {{&a, 100, 1000}, {&b, 0, 7}};
  {
    const HeldParts held(device, parts);
    EXPECT_THROW(held.at(a, 99, 1), Error);
    EXPECT_THROW(held.at(a, 100, 1001), Error);
    EXPECT_THROW(held.at(b, 7, 1), Error);
    EXPECT_NO_THROW(held.at(a, 100, 1000));
  }
  const DeferredMemory::Part too_much[] = {{&a, 0, i64{1} << 50}};
  EXPECT_THROW(HeldParts(device, too_much), Error);
}

}  // namespace megalith::cuda
