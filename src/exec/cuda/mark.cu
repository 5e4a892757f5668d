#include "exec/cuda/mark.h"

namespace megalith::cuda {

static __device__ u64 nanoseconds() {
  u64 t;
  asm volatile("mov.u64 %0, %globaltimer;" : "=l"(t));
  return t;
}

static __device__ void keep(OwnTime& t, Moment moment) {
  const u64 now = nanoseconds();
  if (moment == Moment::run_begins) t.run_began = now, t.waited = 0;
  if (moment == Moment::wait_begins) t.wait_began = now;
  if (moment == Moment::wait_ends) t.waited += now - t.wait_began;
  if (moment != Moment::run_ends) return;
  t.worked += now - t.run_began - t.waited;
  *static_cast<volatile u64*>(t.told) = t.worked;
}

static __global__ void mark(volatile u32* word, u32 value, OwnTime* time, Moment moment) {
  if (word) *word = value;
  if (time) keep(*time, moment);
}

static __global__ void tag_mark(TagTime* t, int tag, bool ends_step) {
  const u64 now = nanoseconds();
  if (tag >= 0) t->sums[tag] += now - t->last;
  t->last = now;
  if (!ends_step) return;
  volatile u64* told = t->told;
  told[0] = 2 * t->steps + 1;
  __threadfence_system();
  told[1] = ++t->steps;
  for (int i = 0; i < t->count; ++i) told[2 + i] = t->sums[i];
  __threadfence_system();
  told[0] = 2 * t->steps;
}

static __global__ void reduction_mark(ReductionTime* t, bool ends) {
  const u64 now = nanoseconds();
  if (!ends) {
    t->began = now;
    return;
  }
  volatile u64* told = t->told;
  told[1 + t->count % ReductionTime::kMost] = now - t->began;
  __threadfence_system();
  told[0] = ++t->count;
}

void launch_reduction_mark(ReductionTime* time, bool ends, cudaStream_t stream) {
  reduction_mark<<<1, 1, 0, stream>>>(time, ends);
  check_launch("mark");
}

void launch_tag(TagTime* time, int tag, bool ends_step, cudaStream_t stream) {
  tag_mark<<<1, 1, 0, stream>>>(time, tag, ends_step);
  check_launch("mark");
}

void launch_mark(u32* word, u32 value, cudaStream_t stream, OwnTime* time, Moment moment) {
  mark<<<1, 1, 0, stream>>>(word, value, time, moment);
  check_launch("mark");
}

}  // namespace megalith::cuda
