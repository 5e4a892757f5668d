// Marks in a stream: a number from the device into the host's memory, and, in the compute stream, moments by the
// device's own clock. They show how long this GPU works and how long it waits for others.
#pragma once
#include "exec/cuda/device.h"

namespace megalith::cuda {

// Nanoseconds, in device memory. The host does not read this: reported values are in host memory.
struct OwnTime {
  u64 run_began = 0, wait_began = 0;
  u64 waited = 0;       // in this run
  u64 worked = 0;       // in all runs that ended
  u64* told = nullptr;  // `worked`, for the host
};
enum class Moment : u8 { none, run_begins, wait_begins, wait_ends, run_ends };

// Nanoseconds by tag (plan/time_tags.h), in device memory. `told`, in host memory, has the values at the last step's
// end: a counter that is odd during the write, the number of steps, then the sums.
struct TagTime {
  static constexpr int kMost = 64;
  u64 last = 0, steps = 0;
  u64 sums[kMost] = {};
  int count = 0;
  u64* told = nullptr;
};
// The time since the last such mark counts to `tag`; -1: to nothing.
void launch_tag(TagTime* time, int tag, bool ends_step, cudaStream_t stream);

// Of each reduction the nanoseconds that the compute stream spent in it, as a ring in the host's memory: how many there
// were, then the last kMost of them. The rest is in the device's memory.
struct ReductionTime {
  static constexpr int kMost = 4096;
  u64 began = 0, count = 0;
  u64* told = nullptr;
};
void launch_reduction_mark(ReductionTime* time, bool ends, cudaStream_t stream);

// `word`: may be missing. `time`: of the compute stream, whose marks come one after another; missing: none is kept.
void launch_mark(u32* word, u32 value, cudaStream_t stream, OwnTime* time = nullptr, Moment moment = Moment::none);

}  // namespace megalith::cuda
