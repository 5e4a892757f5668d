// A stable counting sort without atomics: each chunk of choices counts its experts, one block adds the counts up, and
// each chunk gives its choices their rows. In a chunk a thread has an expert, and goes through the choices in order.
#include "exec/cuda/kernels/experts/expert_rows.h"

#include "exec/cuda/launch.cuh"
#include "exec/cuda_needs/expert_rows_plan.h"

namespace megalith::cuda {

namespace {

constexpr int kThreads = 256, kScanThreads = 1024, kChunk = int(kExpertRowsChunk);

// The chunk's choices as numbers of the rank's experts; -1: elsewhere or none.
__device__ inline void load_chunk(const ExpertRowsLaunch& l, const i32* choice, i32 (&of)[kChunk]) {
  for (int i = threadIdx.x; i < kChunk; i += kThreads) {
    const i64 at = i64(blockIdx.x) * kChunk + i;
    const i32 e = at < l.choices ? choice[at] - l.first : -1;
    of[i] = e >= 0 && e < l.experts ? e : -1;
  }
  __syncthreads();
}

__global__ void __launch_bounds__(kThreads) count_kernel(ExpertRowsLaunch l, const i32* choice, i32* counts) {
  __shared__ i32 of[kChunk];
  load_chunk(l, choice, of);
  for (int e = threadIdx.x; e < l.experts; e += kThreads) {
    i32 n = 0;
#pragma unroll 8
    for (int i = 0; i < kChunk; ++i) n += of[i] == e;
    counts[i64(blockIdx.x) * l.experts + e] = n;
  }
}

// The inclusive sum over the lanes up to this one.
__device__ inline i32 warp_scan(i32 x) {
#pragma unroll
  for (int d = 1; d < 32; d *= 2) {
    const i32 y = __shfl_up_sync(0xffffffffu, x, d);
    if (int(threadIdx.x % 32) >= d) x += y;
  }
  return x;
}

// counts[chunk][e] becomes how many rows e has before the chunk, and ends[e] where its rows end. One block.
__global__ void __launch_bounds__(kScanThreads) scan_kernel(int chunks, int experts, i32* counts, i32* ends) {
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  for (int e = warp; e < experts; e += kScanThreads / 32) {
    i32 before = 0;
    for (int c = 0; c < chunks; c += 32) {
      const bool is_in = c + lane < chunks;
      i32* const at = counts + i64(c + lane) * experts + e;
      const i32 n = is_in ? *at : 0, sum = warp_scan(n);
      if (is_in) *at = before + sum - n;
      before += __shfl_sync(0xffffffffu, sum, 31);
    }
    if (lane == 0) ends[e] = before;
  }
  __syncthreads();
  if (warp != 0) return;
  i32 before = 0;
  for (int e = 0; e < experts; e += 32) {
    const i32 sum = warp_scan(e + lane < experts ? ends[e + lane] : 0);
    if (e + lane < experts) ends[e + lane] = before + sum;
    before += __shfl_sync(0xffffffffu, sum, 31);
  }
}

__global__ void __launch_bounds__(kThreads) place_kernel(ExpertRowsLaunch l, ExpertRowsBuffers b) {
  __shared__ i32 of[kChunk], row[kChunk];
  load_chunk(l, b.choice, of);
  for (int e = threadIdx.x; e < l.experts; e += kThreads) {
    i32 next = b.counts[i64(blockIdx.x) * l.experts + e] + (e ? b.ends[e - 1] : 0);
#pragma unroll 8
    for (int i = 0; i < kChunk; ++i)
      if (of[i] == e) row[i] = next++;
  }
  __syncthreads();
  for (int i = threadIdx.x; i < kChunk; i += kThreads) {
    const i64 at = i64(blockIdx.x) * kChunk + i;
    if (at >= l.choices) break;
    const bool is_here = of[i] >= 0;
    b.slots[at] = is_here ? row[i] : -1;
    if (is_here) b.source[row[i]] = i32(at / l.k);
  }
}

}  // namespace

void launch(const ExpertRowsLaunch& l, const ExpertRowsBuffers& b, cudaStream_t stream) {
  const int chunks = int(expert_rows_chunks(l.choices));
  if (chunks > 0) count_kernel<<<chunks, kThreads, 0, stream>>>(l, b.choice, b.counts);
  scan_kernel<<<1, kScanThreads, 0, stream>>>(chunks, l.experts, b.counts, b.ends);
  if (chunks > 0) place_kernel<<<chunks, kThreads, 0, stream>>>(l, b);
  check_launch("[expert_rows] launch");
}

}  // namespace megalith::cuda
