#include "exec/cuda/tag_clock.h"

#include <algorithm>
#include <atomic>
#include <utility>

#include "base/check.h"

namespace megalith::cuda {

TagClock::TagClock(TimeTags tags) : tags_(std::move(tags)) {
  check(tags_.count <= TagTime::kMost, "{} tags of time: there is room for {}", tags_.count, TagTime::kMost);
  const size_t bytes = (2 + TagTime::kMost) * sizeof *told_;
  check_cuda(cudaHostAlloc(reinterpret_cast<void**>(&told_), bytes, cudaHostAllocDefault), "allocating pinned memory");
  check_cuda(cudaMalloc(reinterpret_cast<void**>(&time_), sizeof *time_), "allocating a clock");
  std::fill_n(told_, 2 + TagTime::kMost, u64{0});
  const TagTime start{.count = tags_.count, .told = told_};
  check_cuda(cudaMemcpy(time_, &start, sizeof start, cudaMemcpyHostToDevice), "starting a clock");
}

TagClock::~TagClock() {
  cudaFree(time_);
  cudaFreeHost(told_);
}

void TagClock::begin_run(int program, cudaStream_t stream) const {
  launch_tag(time_, tags_.before[size_t(program)], false, stream);
}

void TagClock::skip(cudaStream_t stream) const { launch_tag(time_, -1, false, stream); }

void TagClock::behind(int program, size_t i, cudaStream_t stream) const {
  const std::vector<int>& of = tags_.of[size_t(program)];
  const bool is_last = i + 1 == of.size();
  if (is_last || of[i + 1] != of[i]) launch_tag(time_, of[i], is_last && tags_.ends_step[size_t(program)], stream);
}

// Reads again if the GPU wrote meanwhile.
TagSeconds TagClock::seconds() const {
  const volatile u64* told = told_;
  TagSeconds out;
  out.seconds.resize(size_t(tags_.count));
  for (u64 before = 1;;) {
    before = told[0];
    std::atomic_thread_fence(std::memory_order_acquire);
    out.steps = i64(told[1]);
    for (size_t i = 0; i < out.seconds.size(); ++i) out.seconds[i] = double(told[2 + i]) * 1e-9;
    std::atomic_thread_fence(std::memory_order_acquire);
    if (before % 2 == 0 && told[0] == before) return out;
  }
}

}  // namespace megalith::cuda
