// Marks in a stream write a number from the device to host memory. In the compute stream they also read the device's
// clock. They show how long this GPU works, and how long it waits for others.
#pragma once
#include "exec/cuda/device.h"

namespace megalith::cuda {

// Nanoseconds, in device memory. The host reads only `told`, which is in host memory.
struct OwnTime {
  u64 run_began = 0, wait_began = 0;
  u64 waited = 0;       // in this run
  u64 worked = 0;       // in all runs that ended
  u64* told = nullptr;  // `worked`, in host memory
};
enum class Moment : u8 { none, run_begins, wait_begins, wait_ends, run_ends };

// Nanoseconds by tag (plan/time_tags.h), in device memory. `told`, in host memory, has the values at the end of the
// last step: a counter that is odd during the write, the number of steps, then the sums.
struct TagTime {
  static constexpr int kMost = 64;
  u64 last = 0, steps = 0;
  u64 sums[kMost] = {};
  int count = 0;
  u64* told = nullptr;
};
// The time since the last such mark counts for `tag`; with -1 it counts for no tag.
void launch_tag(TagTime* time, int tag, bool ends_step, cudaStream_t stream);

// For each reduction the nanoseconds that the compute stream spent in it. Host memory has a ring: the number of
// reductions so far, then the last kMost of them. The rest is in device memory.
struct ReductionTime {
  static constexpr int kMost = 4096;
  u64 began = 0, count = 0;
  u64* told = nullptr;
};
void launch_reduction_mark(ReductionTime* time, bool ends, cudaStream_t stream);

// `word`: may be null. `time`: for the compute stream, whose marks run one after another; null: the time is not kept.
void launch_mark(u32* word, u32 value, cudaStream_t stream, OwnTime* time = nullptr, Moment moment = Moment::none);

}  // namespace megalith::cuda
