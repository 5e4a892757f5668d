// The loss's sums and the logits' gradient with one read of the logits: a cluster of blocks has a row in registers.
// The blocks of a cluster run at the same time and write to each other's shared memory. Each block gets the maxima
// and sums of all blocks, and adds them in the blocks' order.
#include "exec/cuda/hopper/copies.cuh"
#include "exec/cuda/kernels/loss/cross_entropy.cuh"

namespace megalith::cuda {

namespace {

using Launch = VocabLossLaunch;

// A barrier of all threads of a cluster, in two halves. `publishes`: writes to the cluster's shared memory before the
// arrival are visible after the wait.
template <bool publishes>
__device__ inline void arrive_in_cluster() {
  if constexpr (publishes)
    asm volatile("barrier.cluster.arrive.release.aligned;" ::: "memory");
  else
    asm volatile("barrier.cluster.arrive.relaxed.aligned;" ::: "memory");
}
__device__ inline void wait_for_cluster() { asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory"); }

// Writes to the same address in the shared memory of the cluster's block `rank`.
__device__ inline void put_at(float2* to, int rank, float2 x) {
  unsigned there;
  asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(there) : "r"(hopper::shared_address(to)), "r"(rank));
  asm volatile("st.shared::cluster.v2.f32 [%0], {%1, %2};" ::"r"(there), "f"(x.x), "f"(x.y) : "memory");
}

// The sum of exp(x - m), m = max x.
struct MaxSum {
  float m, sum;
};

// A thread's packs of a row: the threads of its blocks are next to each other, one pack each. Missing columns are
// -inf.
template <class T>
class HeldRow {
 public:
  static constexpr int N = kPackSize<T>, kPacks = Launch::kPacks;

  __device__ HeldRow(const T* row, const VocabLaunch& l, int rank, int blocks)
      : first_((rank * Launch::kThreads + int(threadIdx.x)) * N), step_(blocks * Launch::kThreads * N), l_(l) {
    float none[N];
#pragma unroll
    for (int e = 0; e < N; ++e) none[e] = kNone;
#pragma unroll
    for (int k = 0; k < kPacks; ++k) x_[k] = column(k) < l.valid ? load_pack<N>(row + column(k)) : packed<T>(none);
    if (l.valid % N == 0) return;
#pragma unroll
    for (int k = 0; k < kPacks; ++k) {
      const int c = column(k);
      if (c + N <= l.valid || c >= l.valid) continue;
      float x[N];
      unpack(x_[k], x);
#pragma unroll
      for (int e = 0; e < N; ++e) x[e] = c + e < l.valid ? x[e] : kNone;
      x_[k] = packed<T>(x);
    }
  }

  // The sum over the block; every thread gets it.
  __device__ MaxSum max_sum(float* parts) const {
    float sum = 0;
    const float m = block_max(thread_max(), parts);
    const float base = m == kNone ? 0 : m;
#pragma unroll
    for (int k = 0; k < kPacks; ++k) {
      float x[N], part = 0;
      unpack(x_[k], x);
#pragma unroll
      for (int e = 0; e < N; ++e) part += exp_of<T>(x[e] - base);
      sum += part;
    }
    return {m, block_sum(sum, parts)};
  }

  // dz0 exp(x - m) + dz1 [label]; label: the column, or -1.
  __device__ void store_grad(T* to, float m, float dz0, float dz1, int label) const {
#pragma unroll
    for (int k = 0; k < kPacks; ++k) {
      const int c = column(k);
      if (c >= l_.width) continue;
      float y[N];
      unpack(x_[k], y);
#pragma unroll
      for (int e = 0; e < N; ++e) y[e] = dz0 * exp_of<T>(y[e] - m);
      if (unsigned(label - c) < unsigned(N)) {
#pragma unroll
        for (int e = 0; e < N; ++e) y[e] += c + e == label ? dz1 : 0.0f;
      }
      if (c + N > l_.valid) {
#pragma unroll
        for (int e = 0; e < N; ++e) y[e] = c + e < l_.valid ? y[e] : 0.0f;
      }
      put_pack(to + c, packed<T>(y));
    }
  }

 private:
  // On packed numbers: the compiler would keep unpacked ones for the sum, and there are no registers for them.
  __device__ float thread_max() const {
    if constexpr (std::is_same_v<T, float>) {
      float m = kNone;
#pragma unroll
      for (int k = 0; k < kPacks; ++k) {
        float x[N];
        unpack(x_[k], x);
#pragma unroll
        for (int e = 0; e < N; ++e) m = fmaxf(m, x[e]);
      }
      return m;
    } else {
      using Pair = std::conditional_t<std::is_same_v<T, __half>, __half2, __nv_bfloat162>;
      Pair m{T(kNone), T(kNone)};
#pragma unroll
      for (int k = 0; k < kPacks; ++k) {
        Pair pairs[N / 2];
        memcpy(pairs, x_[k].words, sizeof pairs);
#pragma unroll
        for (int e = 0; e < N / 2; ++e) m = __hmax2(m, pairs[e]);
      }
      return fmaxf(__low2float(m), __high2float(m));
    }
  }
  __device__ int column(int k) const { return first_ + k * step_; }
  int first_, step_;
  const VocabLaunch& l_;
  Pack<T, N> x_[kPacks];
};

// The sum over the whole row, from its n blocks in a fixed order. Whole warps call it.
template <class T>
__device__ inline MaxSum add_up(const float2* blocks, int n) {
  constexpr int kMost = Launch::kMostBlocks;
  const int b = threadIdx.x % kMost;
  const float2 mine = b < n ? blocks[b] : float2{kNone, 0};
  MaxSum all{mine.x, 0};
#pragma unroll
  for (int lane = kMost / 2; lane > 0; lane /= 2) all.m = fmaxf(all.m, __shfl_xor_sync(0xffffffffu, all.m, lane));
  all.sum = mine.x == kNone ? 0 : mine.y * exp_of<T>(mine.x - all.m);
#pragma unroll
  for (int lane = kMost / 2; lane > 0; lane /= 2) all.sum += __shfl_xor_sync(0xffffffffu, all.sum, lane);
  return all;
}

template <class T>
__global__ void __launch_bounds__(Launch::kThreads, 3)
    vocab_loss_kernel(const __grid_constant__ Launch launch, const __grid_constant__ VocabLossBuffers b) {
  __shared__ float parts[32];
  __shared__ float2 of_blocks[Launch::kMostBlocks];
  arrive_in_cluster<false>();
  const VocabLaunch& l = launch.rows;
  const int row = blockIdx.x / launch.blocks, rank = blockIdx.x % launch.blocks;
  const i64 at = i64(row) * l.width;
  const T* x = static_cast<const T*>(b.x) + at;
  const HeldRow<T> held(x, l, rank, launch.blocks);
  const int label = find(l, b.labels[row]);
  const float dy = b.dy[row];
  const bool tells = rank == 0 && threadIdx.x == 0;
  const float picked = tells && label >= 0 ? widen(x[label]) : 0;  // read before any thread overwrites it
  const MaxSum mine = held.max_sum(parts);
  wait_for_cluster();  // all blocks have started
  if (int(threadIdx.x) < launch.blocks) put_at(of_blocks + rank, int(threadIdx.x), {mine.m, mine.sum});
  arrive_in_cluster<true>();
  wait_for_cluster();
  const MaxSum all = add_up<T>(of_blocks, launch.blocks);
  if (tells) b.z[row] = all.sum, b.z[l.rows + row] = label < 0 ? 0 : picked - all.m;
  held.store_grad(static_cast<T*>(b.dx) + at, all.m, dy / all.sum, -dy, label);
}

}  // namespace

void launch_vocab_loss(const VocabLossLaunch& l, const VocabLossBuffers& b, cudaStream_t stream) {
  if (l.rows.rows == 0) return;
  cudaLaunchAttribute cluster;
  cluster.id = cudaLaunchAttributeClusterDimension;
  cluster.val.clusterDim = {unsigned(l.blocks), 1, 1};
  cudaLaunchConfig_t config{};
  config.gridDim = unsigned(l.rows.rows * l.blocks), config.blockDim = VocabLossLaunch::kThreads;
  config.stream = stream, config.attrs = &cluster, config.numAttrs = 1;
  dispatch_activation(l.rows.dtype, [&]<class T>() {
    check_cuda(cudaLaunchKernelEx(&config, vocab_loss_kernel<T>, l, b), "[vocab_loss] launch");
  });
}

}  // namespace megalith::cuda
