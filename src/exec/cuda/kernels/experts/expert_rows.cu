// A stable counting sort without atomics. Each chunk of choices counts its experts, one block adds the counts, and
// each chunk gives its choices their rows. In a chunk each thread has an expert, and reads the choices in order.
#include "exec/cuda/kernels/experts/expert_rows.h"

#include "exec/cuda/launch.cuh"
#include "exec/cuda_needs/expert_rows_plan.h"

namespace megalith::cuda {

namespace {

constexpr int kThreads = 256, kScanThreads = 1024, kChunk = int(kExpertRowsChunk);

// The chunk's choices as numbers of the rank's experts. -1: another rank's expert, no expert, or a token of another
// part.
__device__ inline void load_chunk(const ExpertRowsLaunch& l, const ExpertRowsBuffers& b, i32 (&of)[kChunk]) {
  const i64 from = b.part ? b.part[0] * l.k : 0, to = b.part ? b.part[1] * l.k : l.choices;
  for (int i = threadIdx.x; i < kChunk; i += kThreads) {
    const i64 at = i64(blockIdx.x) * kChunk + i;
    const i32 e = at >= from && at < to ? b.choice[at] - l.first : -1;
    of[i] = e >= 0 && e < l.experts ? e : -1;
  }
  __syncthreads();
}

__global__ void __launch_bounds__(kThreads) count_kernel(ExpertRowsLaunch l, ExpertRowsBuffers b) {
  __shared__ i32 of[kChunk];
  load_chunk(l, b, of);
  for (int e = threadIdx.x; e < l.experts; e += kThreads) {
    i32 n = 0;
#pragma unroll 8
    for (int i = 0; i < kChunk; ++i) n += of[i] == e;
    b.counts[i64(blockIdx.x) * l.experts + e] = n;
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

// Replaces counts[chunk][e] by the number of e's rows before the chunk, and sets ends[e] to the end of its rows. One
// block.
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
  load_chunk(l, b, of);
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

constexpr int kTokens = int(kExpertPartsChunk);

// The inclusive sum over the block's threads up to this one.
__device__ inline i32 block_scan(i32 x) {
  __shared__ i32 of_warps[kTokens / 32];
  const int warp = threadIdx.x / 32;
  i32 sum = warp_scan(x);
  if (threadIdx.x % 32 == 31) of_warps[warp] = sum;
  __syncthreads();
  for (int w = 0; w < warp; ++w) sum += of_warps[w];
  __syncthreads();
  return sum;
}

// upto[t]: number of rows of the chunk's tokens up to t. sums[chunk]: of all its tokens.
__global__ void __launch_bounds__(kTokens)
    token_rows_kernel(ExpertPartsLaunch l, const i32* choice, i32* sums, i32* upto) {
  const i64 token = i64(blockIdx.x) * kTokens + threadIdx.x;
  i32 rows = 0;
  for (i64 j = 0; token < l.tokens && j < l.k; ++j) {
    const i32 e = choice[token * l.k + j] - l.first;
    rows += e >= 0 && e < l.experts;
  }
  const i32 sum = block_scan(rows);
  if (token < l.tokens) upto[token] = sum;
  if (threadIdx.x == kTokens - 1) sums[blockIdx.x] = sum;
}

// One block. It finds each cut among the chunks, then among the tokens of one chunk.
__global__ void __launch_bounds__(kTokens)
    cut_kernel(ExpertPartsLaunch l, int chunks, i32* sums, const i32* upto, i32* cuts) {
  __shared__ i64 shared_filled;
  i32 before = 0;
  for (int c = 0; c < chunks; c += kTokens) {  // sums[chunk] becomes the rows of all chunks up to it
    const int chunk = c + int(threadIdx.x);
    const i32 sum = before + block_scan(chunk < chunks ? sums[chunk] : 0);
    if (chunk < chunks) sums[chunk] = sum;
    __syncthreads();
    before = sums[min(c + kTokens, chunks) - 1];
  }
  if (threadIdx.x == 0) cuts[0] = 0;
  i64 filled = 0;  // rows before the part
  for (i64 part = 1; part <= l.parts; ++part) {
    const i64 most = filled + l.rows;
    int whole = 0;  // chunks that fit
    for (int c = 0; c < chunks; c += kTokens) {
      const int chunk = c + int(threadIdx.x);
      whole += __syncthreads_count(chunk < chunks && sums[chunk] <= most);
    }
    const i64 first = i64(whole) * kTokens, token = first + threadIdx.x;
    const i64 base = whole > 0 ? sums[whole - 1] : 0;
    const bool fits = token < l.tokens && base + upto[token] <= most;
    const int more = __syncthreads_count(fits);
    if (threadIdx.x == 0) {
      cuts[part] = i32(min(first + more, l.tokens));
      shared_filled = more > 0 ? base + upto[first + more - 1] : base;
    }
    __syncthreads();
    filled = shared_filled;
  }
}

}  // namespace

void launch(const ExpertPartsLaunch& l, const ExpertPartsBuffers& b, cudaStream_t stream) {
  const int chunks = int(expert_parts_chunks(l.tokens));
  i32* const upto = b.sums + chunks;
  if (chunks > 0) token_rows_kernel<<<chunks, kTokens, 0, stream>>>(l, b.choice, b.sums, upto);
  cut_kernel<<<1, kTokens, 0, stream>>>(l, chunks, b.sums, upto, b.cuts);
  check_launch("[expert_parts] launch");
}

void launch(const ExpertRowsLaunch& l, const ExpertRowsBuffers& b, cudaStream_t stream) {
  const int chunks = int(expert_rows_chunks(l.choices));
  if (chunks > 0) count_kernel<<<chunks, kThreads, 0, stream>>>(l, b);
  scan_kernel<<<1, kScanThreads, 0, stream>>>(chunks, l.experts, b.counts, b.ends);
  if (chunks > 0) place_kernel<<<chunks, kThreads, 0, stream>>>(l, b);
  check_launch("[expert_rows] launch");
}

}  // namespace megalith::cuda
