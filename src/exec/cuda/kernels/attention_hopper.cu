// The queries' statistics, and the order of the kernels of attention_hopper.h.
#include "exec/cuda/kernels/attention_hopper.cuh"

namespace megalith::cuda {

namespace hopper {

namespace {

constexpr int kStatsThreads = 256;

// D / 8 threads a query, each 16 bytes of do and of o; a block has neighbouring queries of one head.
template <int D>
__global__ void __launch_bounds__(kStatsThreads)
    stats_kernel(const __grid_constant__ AttentionSizes z, const __grid_constant__ AttentionGradBuffers x,
                 const __grid_constant__ QueryStats stats) {
  constexpr int kEach = D / 8;
  const int head = blockIdx.x, part = threadIdx.x % kEach;
  const int query = int(blockIdx.y) * (kStatsThreads / kEach) + int(threadIdx.x) / kEach;
  const i64 row = i64(query) * z.b * z.g * z.r + head;
  const bool real = query < z.s;
  float sum = 0;
  if (real) {
    const auto a = reinterpret_cast<const Vec<__nv_bfloat16>*>(x.dout)[row * kEach + part];
    const auto c = reinterpret_cast<const Vec<__nv_bfloat16>*>(x.o)[row * kEach + part];
#pragma unroll
    for (int i = 0; i < 8; ++i) sum += widen(a.x[i]) * widen(c.x[i]);
  }
#pragma unroll
  for (int lanes = kEach / 2; lanes > 0; lanes /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, lanes);
  if (part != 0) return;
  const float lse = real ? x.lse[row] : -INFINITY;
  const i64 to = i64(head) * stats.padded + query;
  stats.lse[to] = lse == -INFINITY ? INFINITY : lse * kLog2E;
  stats.d[to] = sum;
}

template <int D>
void launch_stats(const AttentionSizes& z, const AttentionGradBuffers& x, const QueryStats& stats,
                  cudaStream_t stream) {
  const dim3 blocks(unsigned(z.b * z.g * z.r), unsigned(stats.padded / (kStatsThreads / (D / 8))));
  stats_kernel<D><<<blocks, kStatsThreads, 0, stream>>>(z, x, stats);
  check_launch("[attention_grad] statistics");
}

i64 stats_floats(const AttentionSizes& z) { return i64(z.b) * z.g * z.r * padded(z.s); }

}  // namespace

}  // namespace hopper

i64 hopper_grad_workspace(const AttentionSizes& z) {
  const i64 heads = i64(z.b) * std::max(z.g * z.r, z.query_heads);
  constexpr i64 kMost = i64{1} << 31;
  check(heads * z.d < kMost && heads * (hopper::padded(z.s) / 64) < kMost / 2,
        "[attention_grad] {} samples of {} positions and {} heads of {} are too large", z.b, z.s, z.query_heads, z.d);
  return 2 * hopper::stats_floats(z) * i64(sizeof(float));
}

void launch_hopper_grad(const AttentionSizes& z, const AttentionGradBuffers& x, const HopperGradMaps& maps,
                        cudaStream_t stream) {
  float* lse = reinterpret_cast<float*>(x.workspace);
  const hopper::QueryStats stats{lse, lse + hopper::stats_floats(z), hopper::padded(z.s)};
  z.d == 64 ? hopper::launch_stats<64>(z, x, stats, stream) : hopper::launch_stats<128>(z, x, stats, stream);
  hopper::launch_key_grad(z, x, maps, stats, stream);
  hopper::launch_query_grad(z, x, maps, stats, stream);
}

}  // namespace megalith::cuda
