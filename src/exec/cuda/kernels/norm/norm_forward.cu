// y = x rstd w, or (x - mean) rstd w + c with the variance of x - mean. A row's threads have kRows rows at once: all
// load together, and one barrier sums all.
#include "exec/cuda/kernels/magnitude.cuh"
#include "exec/cuda/kernels/norm/norm.cuh"

namespace megalith::cuda {

namespace {

struct NormArgs {
  NormBuffers b;
  DType w;
  int rows, h, lanes;
  float part, eps;  // part: 1 / h
};

// Rows at once. They are few, so rows of some blocks load while other blocks of the multiprocessor wait for their
// sums.
template <class T, int kPer>
constexpr int norm_rows = kPer == 16 && sizeof(T) == 2 ? 2 : 1;
// The number of blocks a multiprocessor that registers must allow.
template <int kPer>
constexpr int norm_resident = kPer == 32 ? 1 : 4;

// A thread's packs of 16 bytes in its rows, kPer elements of each.
template <class T, int kPer>
struct RowPacks {
  static constexpr int kSize = 16 / sizeof(T), kPacks = kPer / kSize, kRows = norm_rows<T, kPer>;
  Pack<T, kSize> x[kRows][kPacks];
  int stride, left;  // pack k begins k * stride elements after the first, and exists if that is below `left`

  __device__ bool has(int k) const { return k * stride < left; }
  // Missing elements are zeros.
  __device__ RowPacks(const T* first, int h, int rows, int stride, int left) : stride(stride), left(left) {
    const float zeros[kSize] = {};
#pragma unroll
    for (int r = 0; r < kRows; ++r)
#pragma unroll
      for (int k = 0; k < kPacks; ++k)
        x[r][k] = r < rows && has(k) ? load_pack<kSize>(first + i64(r) * h + k * stride) : packed<T>(zeros);
  }
};

// f(r, k, elements) for all packs.
template <class Rows, class F>
__device__ inline void each_pack(const Rows& rows, F&& f) {
#pragma unroll
  for (int r = 0; r < Rows::kRows; ++r)
#pragma unroll
    for (int k = 0; k < Rows::kPacks; ++k) {
      float x[Rows::kSize];
      unpack(rows.x[r][k], x);
      f(r, k, x);
    }
}

// mean: 0 if not kCentred.
template <bool kCentred, class Rows, class Sums>
__device__ inline void statistics(const NormArgs& a, const Rows& rows, Sums& sums, float (&mean)[Rows::kRows],
                                  float (&rstd)[Rows::kRows]) {
  constexpr int kSize = Rows::kSize;
#pragma unroll
  for (int r = 0; r < Rows::kRows; ++r) mean[r] = rstd[r] = 0;
  if constexpr (kCentred) {
    each_pack(rows, [&](int r, int, const float(&x)[kSize]) {
#pragma unroll
      for (int e = 0; e < kSize; ++e) mean[r] += x[e];
    });
    sums(mean);
#pragma unroll
    for (int r = 0; r < Rows::kRows; ++r) mean[r] *= a.part;
  }
  each_pack(rows, [&](int r, int k, const float(&x)[kSize]) {
    if (kCentred && !rows.has(k)) return;
#pragma unroll
    for (int e = 0; e < kSize; ++e) rstd[r] += (x[e] - mean[r]) * (x[e] - mean[r]);
  });
  sums(rstd);
#pragma unroll
  for (int r = 0; r < Rows::kRows; ++r) rstd[r] = __frsqrt_rn(rstd[r] * a.part + a.eps);
}

template <class T, int kPer, bool kPart, bool kCentred, bool kAmax>
__global__ void __launch_bounds__(norm_threads(kPer, sizeof(T)), norm_resident<kPer>) norm_kernel(const NormArgs a) {
  using Rows = RowPacks<T, kPer>;
  using Sums = RowSums<kPart, norm_threads(kPer, sizeof(T)) / 32>;
  constexpr int kSize = Rows::kSize;
  __shared__ typename Sums::Shared parts;
  const NormLane at(a.lanes);
  const int row = (blockIdx.x * at.groups + at.group) * Rows::kRows, column = at.lane * kSize;
  const i64 first = i64(row) * a.h + column;
  const Rows rows(static_cast<const T*>(a.b.x) + first, a.h, a.rows - row, a.lanes * kSize, a.h - column);
  Sums sums(parts, a.lanes);
  float mean[Rows::kRows], rstd[Rows::kRows];
  statistics<kCentred>(a, rows, sums, mean, rstd);
#pragma unroll
  for (int r = 0; r < Rows::kRows; ++r)
    if (at.lane == 0 && row + r < a.rows) {
      a.b.rstd[row + r] = rstd[r];
      if (kCentred) a.b.mean[row + r] = mean[r];
    }
  if (!a.b.y) return;
  u32 most = 0;
#pragma unroll
  for (int k = 0; k < Rows::kPacks; ++k) {
    if (!rows.has(k)) continue;
    const int from = column + k * rows.stride;
    float w[kSize], c[kSize] = {};
    unpack(load_pack<kSize>(static_cast<const T*>(a.b.w) + from), w);
    if constexpr (kCentred) unpack(load_pack<kSize>(static_cast<const T*>(a.b.c) + from), c);
#pragma unroll
    for (int r = 0; r < Rows::kRows; ++r) {
      if (row + r >= a.rows) continue;
      float x[kSize];
      unpack(rows.x[r][k], x);
#pragma unroll
      for (int e = 0; e < kSize; ++e) x[e] = normed(x[e] - mean[r], rstd[r], w[e], c[e]);
      const Pack<T, kSize> y = packed<T>(x);
      put_pack(static_cast<T*>(a.b.y) + first + i64(r) * a.h + k * rows.stride, y);
      if constexpr (kAmax) most = larger_bits(most, y);
    }
  }
  if constexpr (kAmax)
    raise_amax<norm_threads(kPer, sizeof(T))>(reinterpret_cast<u32*>(a.b.amax), bits_of_f32<T>(most));
}

// Rows of any size: a block for each, element by element, with one read for each sum.
template <class T, bool kCentred>
__global__ void __launch_bounds__(512) any_norm_kernel(const NormArgs a) {
  using Sums = RowSums<false, 16>;
  __shared__ Sums::Shared parts;
  Sums sums(parts, a.lanes);
  for (int row = blockIdx.x; row < a.rows; row += gridDim.x) {
    const T* x = static_cast<const T*>(a.b.x) + i64(row) * a.h;
    T* y = a.b.y ? static_cast<T*>(a.b.y) + i64(row) * a.h : nullptr;
    float mean = 0, sum[1] = {};
    if constexpr (kCentred) {
      for (int i = threadIdx.x; i < a.h; i += blockDim.x) sum[0] += widen(x[i]);
      sums(sum);
      mean = sum[0] * a.part, sum[0] = 0;
    }
    for (int i = threadIdx.x; i < a.h; i += blockDim.x) {
      const float centred = widen(x[i]) - mean;
      sum[0] += centred * centred;
    }
    sums(sum);
    const float rstd = __frsqrt_rn(sum[0] * a.part + a.eps);
    if (threadIdx.x == 0) a.b.rstd[row] = rstd;
    if (kCentred && threadIdx.x == 0) a.b.mean[row] = mean;
    if (!y) continue;
    for (int i = threadIdx.x; i < a.h; i += blockDim.x) {
      float w[1], c[1] = {};
      load_widened(a.b.w, a.w, i, w);
      if constexpr (kCentred) load_widened(a.b.c, a.w, i, c);
      y[i] = narrow<T>(normed(widen(x[i]) - mean, rstd, w[0], c[0]));
    }
  }
}

// f(kernel, rows at once). 0 rows: persistent blocks loop over all rows.
template <class T, bool kCentred, bool kAmax, class F>
void with_typed_kernel(const NormBlock& b, F&& f) {
  with_norm_block(b, [&]<int kPer, bool kPart>() {
    if constexpr (kPer == 0)
      f(any_norm_kernel<T, kCentred>, 0);
    else
      f(norm_kernel<T, kPer, kPart, kCentred, kAmax>, norm_rows<T, kPer>);
  });
}
template <class F>
void with_kernel(const NormShape& s, const NormBlock& b, bool amax, F&& f) {
  dispatch_activation(s.x, [&]<class T>() {
    if (s.centred)
      with_typed_kernel<T, true, false>(b, f);
    else if (amax)
      with_typed_kernel<T, false, true>(b, f);
    else
      with_typed_kernel<T, false, false>(b, f);
  });
}

}  // namespace

NormLaunch plan_norm(const NormShape& s, double eps, const NormDevice& device) {
  NormLaunch l{s, norm_block(s, 1, device), float(eps), 0};
  with_kernel(s, l.block, false, [&](auto* kernel, int rows) {
    const i64 each = i64(rows) * (l.block.threads / l.block.lanes);
    l.blocks = each > 0 ? blocks_for(s.rows, each) : resident_blocks(kernel, l.block, 0, device, s.rows);
  });
  return l;
}

void launch(const NormLaunch& l, const NormBuffers& buffers, cudaStream_t stream) {
  const NormShape& s = l.shape;
  if (buffers.amax) check_cuda(cudaMemsetAsync(buffers.amax, 0, sizeof(float), stream), "[rms_norm] amax");
  if (s.rows == 0) return;
  const NormArgs args{buffers, s.w, int(s.rows), int(s.h), l.block.lanes, 1 / float(s.h), l.eps};
  with_kernel(s, l.block, buffers.amax,
              [&](auto* kernel, int) { kernel<<<l.blocks, l.block.threads, 0, stream>>>(args); });
  check_launch("[rms_norm, layer_norm] launch");
}

}  // namespace megalith::cuda
