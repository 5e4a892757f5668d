// Sums of the columns of [rows, columns] in bf16 on Hopper, in one kernel. A cluster of blocks has all rows of its
// columns, divided equally over its blocks. The blocks read each other's sums from shared memory. So there is no
// workspace and no second kernel, for work of a few microseconds.
#include "exec/cuda/hopper/copies.cuh"
#include "exec/cuda/kernels/pack.cuh"
#include "exec/cuda/kernels/sum.h"

namespace megalith::cuda {

namespace {

constexpr int kPack = 8, kUnroll = 8, kThreads = 256, kBlocks = 8;
constexpr int kRowsInF32 = 64;  // as in sum.cu
using Words = Pack<__nv_bfloat16, kPack>;

// total += the rows r, r + down, ... below `end` of the 8 columns at x.
__device__ inline void add_rows(const __nv_bfloat16* x, i64 columns, int r, int end, int down, double (&total)[kPack]) {
  const __nv_bfloat16* from = x + r * columns;
  const i64 step = down * columns;
  const float zeros[kPack] = {};
  while (r < end) {
    float part[kPack] = {};
    for (int done = 0; done < kRowsInF32 && r < end; done += kUnroll, r += kUnroll * down, from += kUnroll * step) {
      Words rows[kUnroll];
#pragma unroll
      for (int u = 0; u < kUnroll; ++u)
        rows[u] = r + u * down < end ? load_pack<kPack>(from + u * step) : packed<__nv_bfloat16>(zeros);
#pragma unroll
      for (int u = 0; u < kUnroll; ++u) {
        float row[kPack];
        unpack(rows[u], row);
#pragma unroll
        for (int e = 0; e < kPack; ++e) part[e] += row[e];
      }
    }
#pragma unroll
    for (int e = 0; e < kPack; ++e) total[e] += double(part[e]);
  }
}

// sums[c] of the cluster's block `rank`.
__device__ inline double read(const double* sums, int c, int rank) {
  unsigned there;
  double x;
  asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(there) : "r"(hopper::shared_address(sums + c)), "r"(rank));
  asm volatile("ld.shared::cluster.f64 %0, [%1];" : "=d"(x) : "r"(there) : "memory");
  return x;
}
__device__ inline void cluster_barrier() {
  asm volatile("barrier.cluster.arrive.release.aligned;\nbarrier.cluster.wait.acquire.aligned;" ::: "memory");
}

// A block has `across` x kThreads / across threads: `across` packs of columns, and every (kThreads / across)-th row.
template <class Y>
__global__ void __launch_bounds__(kThreads, 3)
    cluster_sums_kernel(const __nv_bfloat16* x, i64 columns, int rows, int chunk, int across, Y* y) {
  __shared__ double sums[kThreads * kPack];  // [down][kPack][across]
  const int down = kThreads / across, a = threadIdx.x % across, d = threadIdx.x / across, width = kPack * across;
  const i64 first = i64(blockIdx.x) * width;
  const int begin = blockIdx.y * chunk, end = min(rows, begin + chunk);
  double total[kPack] = {};
  if (first + a * kPack < columns) add_rows(x + first + a * kPack, columns, begin + d, end, down, total);
#pragma unroll
  for (int e = 0; e < kPack; ++e) sums[(d * kPack + e) * across + a] = total[e];
  __syncthreads();
  for (int c = threadIdx.x; c < width; c += kThreads) {
    double sum = sums[c];
    for (int k = 1; k < down; ++k) sum += sums[k * width + c];
    sums[c] = sum;
  }
  cluster_barrier();
  // Each block finishes its part of the columns.
  const int each = width / kBlocks, c = blockIdx.y * each + threadIdx.x;
  const i64 column = first + c % across * kPack + c / across;
  if (int(threadIdx.x) < each && column < columns) {
    double sum = 0;
    for (int b = 0; b < kBlocks; ++b) sum += read(sums, c, b);
    y[column] = convert<Y>(sum);
  }
  cluster_barrier();  // a block must keep its shared memory until all have read it
}

}  // namespace

void launch_hopper(const SumLaunch& l, const void* x, void* y, cudaStream_t stream) {
  // 8 packs fill the 128 bytes of a memory access. With 16 of them wide rows still give blocks to all multiprocessors
  // at once, with fewer blocks.
  const int across = l.columns <= 2112 ? 8 : 16, chunk = blocks_for(l.terms, kBlocks);
  cudaLaunchAttribute cluster;
  cluster.id = cudaLaunchAttributeClusterDimension;
  cluster.val.clusterDim = {1, kBlocks, 1};
  cudaLaunchConfig_t config{};
  config.gridDim = dim3(unsigned(blocks_for(l.columns, across * kPack)), kBlocks), config.blockDim = dim3(kThreads);
  config.stream = stream, config.attrs = &cluster, config.numAttrs = 1;
  const __nv_bfloat16* from = static_cast<const __nv_bfloat16*>(x);
  const auto run = [&](auto kernel, auto* to) {
    check_cuda(cudaLaunchKernelEx(&config, kernel, from, l.columns, int(l.terms), chunk, across, to), "[sum] launch");
  };
  if (l.to == DType::bf16)
    run(cluster_sums_kernel<__nv_bfloat16>, static_cast<__nv_bfloat16*>(y));
  else
    run(cluster_sums_kernel<float>, static_cast<float*>(y));
}

}  // namespace megalith::cuda
