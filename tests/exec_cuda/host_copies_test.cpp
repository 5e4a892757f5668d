// Copies of the state beside the GPU's work, and memory that can't be had. Skipped where there is no GPU.
#include "exec/cuda/host_copies.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cstring>
#include <thread>

#include "exec/cuda/executor.h"

namespace megalith::cuda {
namespace {

constexpr i64 kBytes = (i64{40} << 20) + 7, kTooMuch = i64{1} << 50;

struct Copies : testing::Test {
  Device device{0, ""};
  HostCopies copies{device.stream()};
  Pinned state = zeroed_pinned(kBytes);

  void CUDART_CB static sleep(void*) { std::this_thread::sleep_for(std::chrono::milliseconds(300)); }
};

}  // namespace

TEST_F(Copies, WithoutRoomOnTheGpuTheyGoToTheHost) {
  testing::internal::CaptureStderr();
  copies.use_device(kTooMuch);
  const std::string told = testing::internal::GetCapturedStderr();
  EXPECT_NE(told.find("warning: --async-save: the GPU has no 1073741824.0 MiB for copies"), std::string::npos) << told;
  EXPECT_EQ(cudaGetLastError(), cudaSuccess);
  const DeviceMemory there = try_device_memory(kBytes);
  check_cuda(cudaMemsetAsync(there.get(), 5, size_t(kBytes), device.stream()), "test");
  std::byte* to = copies.memory(kBytes);
  copies.begin(), copies.add({to, size_t(kBytes)}, there.get()), copies.end(), copies.hold();
  check_cuda(cudaMemsetAsync(there.get(), 6, size_t(kBytes), device.stream()), "test");
  copies.wait();
  for (i64 i = 0; i < kBytes; ++i) ASSERT_EQ(to[i], std::byte{5}) << i;
}

// What does not fit there goes to the host at once, part of a piece too; the work behind hold() harms neither.
TEST_F(Copies, GoAsFarAsThereIsRoomOnTheGpu) {
  copies.use_device(kBytes + kBytes / 2);
  const DeviceMemory there = try_device_memory(3 * kBytes);
  std::byte* to = copies.memory(3 * kBytes);
  for (const int value : {5, 7}) {  // twice: the room is there again
    check_cuda(cudaLaunchHostFunc(device.stream(), sleep, nullptr), "test");
    check_cuda(cudaMemsetAsync(there.get(), value, size_t(3 * kBytes), device.stream()), "test");
    copies.begin();
    for (i64 i = 0; i < 3; ++i) copies.add({to + i * kBytes, size_t(kBytes)}, there.get() + i * kBytes);
    copies.end(), copies.hold();
    check_cuda(cudaMemsetAsync(there.get(), 6, size_t(3 * kBytes), device.stream()), "test");
    copies.wait();
    for (i64 i = 0; i < 3 * kBytes; ++i) ASSERT_EQ(to[i], std::byte(value)) << i;
  }
}

// As the work before has left it, unharmed by the work behind hold(), and not by the caller's thread.
TEST_F(Copies, OfTheHostsMemoryTakeTheirTurn) {
  const DeviceMemory five = try_device_memory(kBytes), six = try_device_memory(kBytes);
  check_cuda(cudaMemsetAsync(five.get(), 5, size_t(kBytes), device.stream()), "test");
  check_cuda(cudaMemsetAsync(six.get(), 6, size_t(kBytes), device.stream()), "test");
  std::byte* to = copies.memory(kBytes);
  check_cuda(cudaLaunchHostFunc(device.stream(), sleep, nullptr), "test");
  check_cuda(cudaMemcpyAsync(state.get(), five.get(), size_t(kBytes), cudaMemcpyDefault, device.stream()), "test");
  const auto began = std::chrono::steady_clock::now();
  copies.begin(), copies.add_from_host({to, size_t(kBytes)}, state.get()), copies.end(), copies.hold();
  EXPECT_LT(std::chrono::steady_clock::now() - began, std::chrono::milliseconds(200)) << "the caller waited";
  check_cuda(cudaMemcpyAsync(state.get(), six.get(), size_t(kBytes), cudaMemcpyDefault, device.stream()), "test");
  copies.wait();
  for (i64 i = 0; i < kBytes; ++i) ASSERT_EQ(to[i], std::byte{5}) << i;
  check_cuda(cudaStreamSynchronize(device.stream()), "test");
  EXPECT_EQ(state.get()[kBytes - 1], std::byte{6});
}

TEST(CudaExecutor, LeavesNoArenaBehindWhereTheHostsMemoryIsMissing) {
  Device device(0, "");
  Plan plan;
  plan.arena_bytes = i64{256} << 20, plan.host_bytes = kTooMuch;
  const i64 before = device.free_bytes();
  for (int i = 0; i < 3; ++i) EXPECT_THROW(Executor(plan, {}, device), Error);
  EXPECT_GT(device.free_bytes(), before - plan.arena_bytes);
}

}  // namespace megalith::cuda
