// Our attention forward. A block has a tile of queries of one head. It loops over the tiles of keys that any of them
// sees, with a running maximum and sum (online softmax). The next keys load during the computation on the current
// ones. Scores are multiplied by log2(e), for exp2.
#include "exec/cuda/kernels/attention/attention.h"

#include "exec/cuda/kernels/attention/attention_tile.cuh"
#include "exec/cuda/kernels/attention/attention_view.cuh"

namespace megalith::cuda {

namespace {

template <class T>
constexpr int kQueryWarps = std::is_same_v<T, float> ? 4 : 8;
template <class T>
constexpr int kKeys = std::is_same_v<T, float> ? 32 : 64;  // in a tile

template <class T, int D>
constexpr i64 shared_bytes(int stages) {
  constexpr int kWarps = kQueryWarps<T>, kN = kKeys<T>;
  return (16 * kWarps + 2 * stages * kN) * i64(kRow<T, D>) * i64(sizeof(T)) + kWarps * kStashBytes<T, kN>;
}

// For the lane's two queries.
struct Softmax {
  float most[2], sum[2];
};

// Replaces scores by unnormalized probabilities. `shrink`: the factor for all earlier sums.
template <int N>
__device__ void softmax_step(Sums<N>& c, Softmax& state, float (&shrink)[2]) {
  float most[2] = {-INFINITY, -INFINITY}, sum[2] = {}, base[2];
#pragma unroll
  for (int j = 0; j < N / 8; ++j)
#pragma unroll
    for (int e = 0; e < 4; ++e) most[e / 2] = fmaxf(most[e / 2], c[j][e]);
#pragma unroll
  for (int i = 0; i < 2; ++i) {
    most[i] = fmaxf(most[i], __shfl_xor_sync(0xffffffffu, most[i], 1));
    most[i] = fmaxf(state.most[i], fmaxf(most[i], __shfl_xor_sync(0xffffffffu, most[i], 2)));
    base[i] = most[i] == -INFINITY ? 0.0f : most[i];  // no key seen so far: every exp below is 0
    shrink[i] = exp2_fast(state.most[i] - base[i]);
    state.most[i] = most[i];
  }
#pragma unroll
  for (int j = 0; j < N / 8; ++j)
#pragma unroll
    for (int e = 0; e < 4; ++e) sum[e / 2] += c[j][e] = exp2_fast(c[j][e] - base[e / 2]);
#pragma unroll
  for (int i = 0; i < 2; ++i) state.sum[i] = state.sum[i] * shrink[i] + sum[i];
}

// kRelative: with the bias of relative positions. It has separate kernels, because the others have no registers for
// it.
template <class T, int D, bool kRelative>
struct Attend {
  static constexpr int kN = kKeys<T>, kM = 16 * kQueryWarps<T>;
  const AttentionSizes& z;
  const AttentionBuffers& x;
  Head head;
  AttentionTile tile;
  T *queries, *keys;  // shared: [kM, D], [stages, 2, kN, D]
  float* stash;

  __device__ void load_keys(const KeyTiles<kN>& at, int stage) const {
    T* to = keys + stage * 2 * kN * kRow<T, D>;
    const i64 from = key_row(z, head, at.local()) * z.d;
    load_tile<D, kN>(to, static_cast<const T*>(x.k) + from, key_stride(z), at.count(), z.d);
    load_tile<D, kN>(to + kN * kRow<T, D>, static_cast<const T*>(x.v) + from, key_stride(z), at.count(), z.d);
  }

  __device__ void drop(const LaneQueries& q, int first, Sums<kN>& c) const {
#pragma unroll
    for (int j = 0; j < kN / 8; ++j)
#pragma unroll
      for (int e = 0; e < 4; ++e) c[j][e] *= keep_factor(z, q.hash[e / 2], first + column_of(j, e));
  }

  __device__ void operator()() const {
    const int end = end_of_keys(z, x.lengths, head.b);
    const LaneQueries q = lane_queries(z, tile, head, x.rows, x.starts, end);
    const Span lows = first_keys(z, tile, span_of_starts(z, tile, head.b, x.starts));
    Sums<D> o = {};
    Softmax state{{-INFINITY, -INFINITY}, {0, 0}};
    KeyTiles<kN> at(z.keys, lows.low, last_key(z, tile.position + tile.count - 1, end));
    int stage = 0;
    load_tile<D, kM>(queries, static_cast<const T*>(x.q) + query_row(z, head, tile.local) * z.d, query_stride(z),
                     tile.count, z.d);
    if (!at.done()) load_keys(at, 0);
    if (x.lse_before) go_on(o, state);
    while (!at.done()) {
      const int first = at.first;
      wait_for_copies();
      __syncthreads();
      if (const KeyTiles<kN> after = at.after(); z.stages == 2 && !after.done()) load_keys(after, 1 - stage);
      const T* k = keys + stage * 2 * kN * kRow<T, D>;
      Sums<kN> c;
      float shrink[2];
      product_of_rows<D, kN>(c, queries + warp_id() * 16 * kRow<T, D>, k);
      to_scores<kRelative>(
          z, head, x.bias, c, [&](int j, int e) { return first + column_of(j, e); },
          [&](int, int e) { return q.position[e / 2]; });
      if (has_hidden(at, lows, last_key(z, tile.position, end))) hide(q, at, c);
      softmax_step<kN>(c, state, shrink);
      if (z.dropout) drop(q, first, c);
#pragma unroll
      for (int j = 0; j < D / 8; ++j)
#pragma unroll
        for (int e = 0; e < 4; ++e) o[j][e] *= shrink[e / 2];
      add_product<D, D, kN>(o, c, k + kN * kRow<T, D>, stash);
      at.next();
      if (z.stages == 2) {
        stage = 1 - stage;
      } else if (!at.done()) {
        __syncthreads();
        load_keys(at, 0);
      }
    }
    wait_for_copies();
    store(o, state);
  }

  // Adds the result of keys seen earlier: their o is a sum of weight 1 around the maximum lse. One lane of four has
  // it.
  __device__ void go_on(Sums<D>& o, Softmax& state) const {
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      const int row = warp_id() * 16 + row_of(2 * i);
      if (row >= tile.count) continue;
      const i64 from = output_row(z, head, tile.local + row);
      const float lse = x.lse_before[from];
      if (lse == -INFINITY) continue;
      state.most[i] = lse * kLog2E, state.sum[i] = lane_id() % 4 == 0;
      load_row<D>(o, x.o_before + from * z.d, z.d, i);
    }
  }

  __device__ void store(const Sums<D>& o, Softmax& state) const {
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      float& sum = state.sum[i];
      sum += __shfl_xor_sync(0xffffffffu, sum, 1);
      sum += __shfl_xor_sync(0xffffffffu, sum, 2);
      const int row = warp_id() * 16 + row_of(2 * i);
      if (row >= tile.count) continue;
      const i64 to = output_row(z, head, tile.local + row);
      const float scale = sum == 0 ? 0.0f : 1 / sum;
      if (z.wide)
        store_row<D>(static_cast<float*>(x.o) + to * z.d, 0, z.d, o, i, scale);
      else
        store_row<D>(static_cast<T*>(x.o) + to * z.d, 0, z.d, o, i, scale);
      if (lane_id() % 4 == 0) x.lse[to] = (state.most[i] + log2f(sum)) * kLn2;
    }
  }
};

// The last queries first, because they see the most keys.
template <class T, int D, bool kRelative>
__global__ void __launch_bounds__(32 * kQueryWarps<T>, D <= 64 ? 2 : 1)
    attention_kernel(const __grid_constant__ AttentionSizes z, const __grid_constant__ AttentionBuffers x) {
  extern __shared__ __align__(16) unsigned char memory[];
  using A = Attend<T, D, kRelative>;
  const Head head{int(blockIdx.z), int(blockIdx.y) / z.r, int(blockIdx.y) % z.r};
  T* queries = reinterpret_cast<T*>(memory);
  T* keys = queries + A::kM * kRow<T, D>;
  float* stash = reinterpret_cast<float*>(keys + z.stages * 2 * A::kN * kRow<T, D>);
  A{z,
    x,
    head,
    tile_at(z.positions, int(gridDim.x - 1 - blockIdx.x), A::kM),
    queries,
    keys,
    stash + warp_id() * kStashBytes<T, A::kN> / 4}();
}

template <class F>
void with_kernel(const AttentionSizes& z, F&& f) {
  const auto sized = [&]<class T, bool kRelative>() {
    if (z.d <= 64) return f.template operator()<T, 64, kRelative>();
    if (z.d <= 128) return f.template operator()<T, 128, kRelative>();
    return f.template operator()<T, 256, kRelative>();
  };
  const auto typed = [&]<class T>() {
    z.reach > 0 ? sized.template operator()<T, true>() : sized.template operator()<T, false>();
  };
  dispatch_activation(z.dtype, typed);
}

constexpr int kSquare = 32;

__global__ void transpose_kernel(Transpose n, const float* from, float* to) {
  __shared__ float square[kSquare][kSquare + 1];
  const i64 row = i64(blockIdx.y) * kSquare, column = i64(blockIdx.x) * kSquare;
  for (int i = threadIdx.y; i < kSquare; i += blockDim.y)
    if (row + i < n.rows && column + threadIdx.x < n.columns)
      square[i][threadIdx.x] = from[(row + i) * n.columns + column + threadIdx.x];
  __syncthreads();
  for (int i = threadIdx.y; i < kSquare; i += blockDim.y) {
    const i64 c = column + i, r = row + threadIdx.x;
    if (r < n.rows && c < n.columns)
      to[c / n.group * n.group_stride + c % n.group * n.rows + r] = square[threadIdx.x][i];
  }
}

}  // namespace

i64 attention_shared_bytes(const AttentionSizes& z) {
  i64 bytes = 0;
  with_kernel(z, [&]<class T, int D, bool>() { bytes = shared_bytes<T, D>(z.stages); });
  return bytes;
}

void launch(const AttentionSizes& z, const AttentionBuffers& x, cudaStream_t stream) {
  if (z.s == 0 || z.b == 0 || z.g == 0 || z.r == 0) return;
  with_kernel(z, [&]<class T, int D, bool kRelative>() {
    const int bytes = int(shared_bytes<T, D>(z.stages));
    check_cuda(
        cudaFuncSetAttribute(attention_kernel<T, D, kRelative>, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes),
        "[attention] shared memory");
    const dim3 grid(unsigned(tiles_of(z.positions, 16 * kQueryWarps<T>)), unsigned(z.g * z.r), unsigned(z.b));
    attention_kernel<T, D, kRelative><<<grid, 32 * kQueryWarps<T>, size_t(bytes), stream>>>(z, x);
  });
  check_launch("[attention] launch");
}

void launch(const Transpose& n, const float* from, float* to, cudaStream_t stream) {
  if (n.rows == 0 || n.columns == 0) return;
  const dim3 grid(unsigned(blocks_for(n.columns, kSquare)), unsigned(blocks_for(n.rows, kSquare)));
  transpose_kernel<<<grid, dim3(kSquare, 8), 0, stream>>>(n, from, to);
  check_launch("[attention] transpose");
}

}  // namespace megalith::cuda
