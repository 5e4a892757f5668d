// Marks in a stream: a number from the device into the host's memory, and, in the compute stream, moments by the
// device's own clock. They show how long this GPU works and how long it waits for others.
#pragma once
#include "exec/cuda/device.h"

namespace megalith::cuda {

// Nanoseconds, in the device's memory. Nothing here is read back: what is told lies in the host's memory.
struct OwnTime {
  u64 run_began = 0, wait_began = 0;
  u64 waited = 0;       // in this run
  u64 worked = 0;       // in all runs that ended
  u64* told = nullptr;  // `worked`, for the host
};
enum class Moment : u8 { none, run_begins, wait_begins, wait_ends, run_ends };

// `word`: may be missing. `time`: of the compute stream, whose marks come one after another; missing: none is kept.
void launch_mark(u32* word, u32 value, cudaStream_t stream, OwnTime* time = nullptr, Moment moment = Moment::none);

}  // namespace megalith::cuda
