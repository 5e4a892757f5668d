// Copies to and from the GPU, in their places in the stream. Skipped where there is no GPU.
#include <gtest/gtest.h>

#include <numeric>

#include "exec/cuda/pinned.h"
#include "exec/cuda/requests.h"
#include "exec/cuda/staging.h"
#include "exec/cuda/streams.h"

namespace megalith::cuda {
namespace {

struct Staged : testing::Test {
  Device device{0, ""};
  Staging staging{device.stream()};
  Requests requests{device.stream()};
  std::vector<std::byte*> allocated;

  std::byte* allocate(i64 bytes) {
    check_cuda(cudaMalloc(reinterpret_cast<void**>(&allocated.emplace_back()), size_t(bytes)), "test buffer");
    return allocated.back();
  }
  ~Staged() override {
    cudaStreamSynchronize(device.stream());
    for (std::byte* p : allocated) cudaFree(p);
  }
};

// Sizes around those of a slot, and more than the whole ring.
TEST_F(Staged, WhatIsWrittenIsRead) {
  for (const i64 bytes : {i64{1}, i64{255}, (i64{4} << 20) - 1, i64{4} << 20, (i64{4} << 20) + 3, i64{150} << 20}) {
    std::vector<u8> data(static_cast<size_t>(bytes)), back(data.size());
    for (size_t i = 0; i < data.size(); ++i) data[i] = u8(i * 7 + i / 1000);
    std::byte* there = allocate(bytes);
    staging.write(there, data.data(), bytes);
    const std::vector<u8> kept = data;
    std::fill(data.begin(), data.end(), u8(0));  // the caller's memory is free again
    staging.read(back.data(), there, bytes);
    EXPECT_TRUE(back == kept) << bytes;
  }
}

// Many small writes into one place: the last one holds, and each was what it was when it was written.
TEST_F(Staged, ManySmallWritesKeepTheirOrder) {
  std::byte* there = allocate(8 * 5000);
  for (double i = 0; i < 50000; ++i) {
    staging.write(there + 8 * (i64(i) % 5000), &i, 8);
  }
  std::vector<double> back(5000), expected(5000);
  staging.read(back.data(), there, 8 * 5000);
  std::iota(expected.begin(), expected.end(), 45000.0);
  EXPECT_EQ(back, expected);
}

// A value goes from the device through the host and back a hundred times. The host does not wait in between.
TEST_F(Staged, OneResultGoesIntoTheNextWrite) {
  std::byte* there = allocate(16);
  const double start[2] = {1, 2};
  staging.write(there, start, 16);
  for (int i = 0; i < 100; ++i) {
    const int ticket = requests.ask(there, 16);
    staging.write_later(there, 16, [values = requests.place(ticket)](std::byte* to) {
      double* next = reinterpret_cast<double*>(to);
      next[0] = values[0] + 1, next[1] = values[1] + values[0];
    });
    if (i % 2 == 0) {
      EXPECT_EQ(requests.take(ticket)[0], 1 + i);
    } else {
      while (!requests.ready(ticket)) continue;
      EXPECT_EQ(requests.take(ticket)[0], 1 + i);
    }
    EXPECT_EQ(cudaGetLastError(), cudaSuccess);
  }
  double end[2];
  staging.read(end, there, 16);
  EXPECT_EQ(end[0], 101);
  EXPECT_EQ(end[1], 2 + 100 * 101 / 2);
}

// As when a checkpoint is on its way to the host, in many copies: the step's results are read meanwhile.
TEST_F(Staged, ResultsDoNotWaitForCopiesOnAnotherLane) {
  constexpr i64 kBytes = i64{1} << 30, kCopy = i64{32} << 20;
  std::byte *from = allocate(kBytes), *result = allocate(8);
  void* memory = nullptr;
  check_cuda(cudaHostAlloc(&memory, size_t(kBytes), cudaHostAllocDefault), "test buffer");
  const Pinned to(static_cast<std::byte*>(memory));
  const double value = 7;
  staging.write(result, &value, 8);
  EXPECT_EQ(requests.take(requests.ask(result, 8))[0], 7);  // all is loaded
  Lane lane;
  for (i64 at = 0; at < kBytes; at += kCopy)
    check_cuda(cudaMemcpyAsync(to.get() + at, from + at, size_t(kCopy), cudaMemcpyDeviceToHost, lane.stream()), "test");
  EXPECT_EQ(requests.take(requests.ask(result, 8))[0], 7);
  EXPECT_EQ(cudaStreamQuery(lane.stream()), cudaErrorNotReady);
  cudaGetLastError();
  cudaStreamSynchronize(lane.stream());
}

// Losses and what experts get are one result: as many numbers as a model has.
TEST_F(Staged, ResultsAreOfAnySize) {
  std::byte* there = allocate(8192);
  for (const size_t n : {size_t{2}, size_t{1024}, size_t{3}}) {
    std::vector<double> values(n);
    std::iota(values.begin(), values.end(), double(n));
    staging.write(there, values.data(), i64(n) * 8);
    EXPECT_EQ(requests.take(requests.ask(there, i64(n) * 8)), values);
  }
}

TEST_F(Staged, RefusesWhatDoesNotFit) {
  std::byte* there = allocate(8);
  EXPECT_THROW(staging.write_later(there, i64{5} << 20, [](std::byte*) {}), Error);
  for (int i = 0; i < Requests::kSlots; ++i) requests.ask(there, 8);
  EXPECT_THROW(requests.ask(there, 8), Error);
}

}  // namespace
}  // namespace megalith::cuda
