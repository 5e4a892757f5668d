// Writes to the GPU that the caller fills itself. Skipped where there is no GPU.
#include "exec/cuda/fill_ring.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cstring>
#include <random>
#include <stdexcept>

#include "base/in_parallel.h"
#include "exec/cuda/staging.h"

namespace megalith::cuda {
namespace {

constexpr i64 kFilledBytes = i64{60} << 20;  // several times the ring

struct Filled : testing::Test {
  Device device{0, ""};
  Staging staging{device.stream()};
  FillRing ring{device.stream()};
  std::byte* there = nullptr;

  Filled() { check_cuda(cudaMalloc(reinterpret_cast<void**>(&there), size_t(kFilledBytes)), "test buffer"); }
  ~Filled() override {
    cudaStreamSynchronize(device.stream());
    cudaFree(there);
  }
  std::vector<u8> read() {
    std::vector<u8> back(static_cast<size_t>(kFilledBytes));
    staging.read(back.data(), there, kFilledBytes);
    return back;
  }
};

std::vector<u8> random_bytes() {
  std::vector<u8> bytes(static_cast<size_t>(kFilledBytes));
  std::mt19937_64 random(7);
  for (size_t i = 0; i < bytes.size(); i += sizeof(u64)) {
    const u64 r = random();
    std::memcpy(&bytes[i], &r, sizeof r);
  }
  return bytes;
}

// More threads than the ring has rooms, which each put down pieces of other sizes.
TEST_F(Filled, ThreadsWriteAtATime) {
  const std::vector<u8> bytes = random_bytes();
  std::atomic<i64> next = 0;
  in_parallel(int(FillRing::kRooms) + 8, [&](int t) {
    const i64 part = t % 3 == 0 ? FillRing::kRoomBytes : t % 3 == 1 ? 4096 * 7 : 100'001;
    for (i64 begin; (begin = next.fetch_add(part)) < kFilledBytes;)
      ring.write(there + begin, std::min(part, kFilledBytes - begin), [&](std::byte* to) {
        std::memcpy(to, bytes.data() + begin, size_t(std::min(part, kFilledBytes - begin)));
      });
  });
  EXPECT_TRUE(read() == bytes);
}

// In the order of the stream, like other writes.
TEST_F(Filled, TheLastWriteHolds) {
  for (u32 i = 0; i < 5000; ++i) ring.write(there, sizeof i, [&](std::byte* to) { std::memcpy(to, &i, sizeof i); });
  u32 back = 0;
  staging.read(&back, there, sizeof back);
  EXPECT_EQ(back, 4999u);
}

TEST_F(Filled, AnErrorWritesNothingAndKeepsNoRoom) {
  const u64 value = 12345;
  ring.write(there, sizeof value, [&](std::byte* to) { std::memcpy(to, &value, sizeof value); });
  for (i64 i = 0; i < 3 * FillRing::kRooms; ++i)
    EXPECT_THROW(ring.write(there, sizeof value,
                            [&](std::byte* to) {
                              std::memset(to, 0, sizeof value);
                              throw std::runtime_error("damaged");
                            }),
                 std::runtime_error);
  u64 back = 0;
  staging.read(&back, there, sizeof back);
  EXPECT_EQ(back, value);
  EXPECT_THROW(ring.write(there, FillRing::kRoomBytes + 1, [](std::byte*) {}), Error);
}

}  // namespace
}  // namespace megalith::cuda
