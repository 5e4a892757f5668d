// The step before the sums of attention_hopper.h: statistics of the queries.
#include "exec/cuda/kernels/attention/attention_hopper.cuh"

namespace megalith::cuda {

namespace hopper {

namespace {

constexpr int kStatsThreads = kHopperStatsThreads;

// D / 8 threads for each query, each with 16 bytes of do and of o. A block has consecutive queries of one tile and
// head. It also sets all turns, and the ticket after them, to 0.
template <int D, bool kPlain>
__global__ void __launch_bounds__(kStatsThreads)
    stats_kernel(const __grid_constant__ AttentionSizes z, const __grid_constant__ AttentionGradBuffers x,
                 const __grid_constant__ Scratch scratch, int turns) {
  constexpr int kEach = D / 8;
  const int heads = z.b * z.g * z.r, head = int(blockIdx.x) % heads, part = threadIdx.x % kEach;
  const int query = int(blockIdx.x) / heads * (kStatsThreads / kEach) + int(threadIdx.x) / kEach;  // in tiles
  const AttentionTile tile = query_tile<kPlain>(z, query / kQueries);
  const i64 row = i64(tile.local + query % kQueries) * heads + head;
  const i64 thread = i64(blockIdx.x) * kStatsThreads + threadIdx.x;
  if (thread <= turns) scratch.turns[thread] = 0;
  const bool real = query % kQueries < tile.count;
  float sum = 0, lse = -INFINITY;
  if (real) {
    lse = x.lse[row];  // loads in parallel with the others
    const auto a = reinterpret_cast<const Vec<__nv_bfloat16>*>(x.dout)[row * kEach + part];
    const auto c = reinterpret_cast<const Vec<__nv_bfloat16>*>(x.o)[row * kEach + part];
#pragma unroll
    for (int i = 0; i < 8; ++i) sum += widen(a.x[i]) * widen(c.x[i]);
  }
#pragma unroll
  for (int lanes = kEach / 2; lanes > 0; lanes /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, lanes);
  if (part != 0) return;
  float* to = scratch.begin + (i64(head) * scratch.tiles + query / kQueries) * (2 * kQueries) + query % kQueries;
  to[0] = lse == -INFINITY ? -INFINITY : -lse / z.scale;
  to[kQueries] = -sum;
}

template <int D>
void launch_stats(const AttentionSizes& z, const AttentionGradBuffers& x, const Scratch& scratch, cudaStream_t stream) {
  const unsigned blocks = unsigned(hopper_stats_blocks(z));
  const int turns = int(hopper_tiles(z));
  is_plain(z) ? stats_kernel<D, true><<<blocks, kStatsThreads, 0, stream>>>(z, x, scratch, turns)
              : stats_kernel<D, false><<<blocks, kStatsThreads, 0, stream>>>(z, x, scratch, turns);
  check_launch("[attention_grad] statistics");
}

}  // namespace

}  // namespace hopper

void launch_hopper_grad(const AttentionSizes& z, const AttentionGradBuffers& x, const HopperGradMaps& maps,
                        cudaStream_t stream) {
  const i64 tiles = hopper_tiles(z);
  float *begin = reinterpret_cast<float*>(x.workspace), *dq = begin + tiles * 2 * hopper::kQueries;
  int* turns = reinterpret_cast<int*>(dq + tiles * hopper::kQueries * z.d);
  const hopper::Scratch scratch{begin, dq, turns, turns + tiles, hopper_query_tiles(z)};
  z.d == 64 ? hopper::launch_stats<64>(z, x, scratch, stream) : hopper::launch_stats<128>(z, x, scratch, stream);
  hopper::launch_sums(z, x, maps, scratch, stream);
}

}  // namespace megalith::cuda
