#include "exec/cuda/kernels/update/update.h"

#include "exec/cuda/kernels/elementwise.cuh"
#include "exec/cuda/kernels/update/split_float.cuh"
#include "exec/cuda/kernels/update/tensor_list.cuh"

namespace megalith::cuda {

constexpr int kThreads = 256, kFinishThreads = 1024;
constexpr i64 kChunk = kSquaresChunk;
constexpr i64 kSumsOfBlock = 4 * kThreads;  // elements that a block accumulates
constexpr int kRowsOfBlock = kSquaresRows;

void launch_accumulate(DType dtype, i64 n, const void* x, const void* before, void* sum, cudaStream_t stream) {
  dispatch(dtype, [&]<class X>() {
    launch_map(stream, n, Plus{}, static_cast<X*>(sum), static_cast<const X*>(before), static_cast<const X*>(x));
  });
  check_launch("[accumulate] launch");
}

static __global__ void __launch_bounds__(kThreads) count_kernel(i64 n, const i32* x, i32* sum) {
  const i64 i = i64(blockIdx.x) * kThreads + threadIdx.x;
  if (i < n) sum[i] += x[i];
}

void launch_count_up(i64 n, const i32* x, i32* sum, cudaStream_t stream) {
  if (n > 0) count_kernel<<<blocks_for(n, kThreads), kThreads, 0, stream>>>(n, x, sum);
  check_launch("[accumulate] launch");
}

template <int kMost>
static __global__ void __launch_bounds__(kThreads)
    accumulate_kernel(const __grid_constant__ TensorList<AccumulateItem, kMost> list, bool anew) {
  const Chunk c = find_chunk(list, blockIdx.x, kSumsOfBlock);
  const AccumulateItem& t = list.items[c.tensor];
#pragma unroll
  for (int k = 0; k < int(kSumsOfBlock) / kThreads; ++k)
    if (const i64 i = c.begin + k * kThreads + threadIdx.x; i < c.end) t.sum[i] = anew ? t.x[i] : t.sum[i] + t.x[i];
}

void launch_accumulate(std::span<const AccumulateItem> items, bool anew, cudaStream_t stream) {
  for_lists(items, kSumsOfBlock, [&]<int kMost>(const TensorList<AccumulateItem, kMost>& list, int blocks) {
    accumulate_kernel<kMost><<<blocks, kThreads, 0, stream>>>(list, anew);
  });
  check_launch("[multi_accumulate] launch");
}

// The square of an f32, bf16 or f16 number is exact in f64.
struct AddSquare {
  __device__ double operator()(double sum, double x) const { return fma(x, x, sum); }
};
struct AddNonzero {
  __device__ double operator()(double sum, double x) const { return sum + (x != 0); }
};

template <class X, int kMost, class Add>
static __global__ void __launch_bounds__(kThreads)
    squares_kernel(const __grid_constant__ TensorList<SquaresItem, kMost> list, double* partials) {
  constexpr int N = kPackSize<X>;
  __shared__ double parts[32];
  const Chunk c = find_chunk(list, blockIdx.x, kChunk);
  const X* x = static_cast<const X*>(list.items[c.tensor].x) + c.begin;
  const int packs = int(c.end - c.begin) / N, rest = packs * N + threadIdx.x;
  double sums[4] = {};
#pragma unroll 4
  for (int p = threadIdx.x; p < packs; p += kThreads) {
    const Numbers<double, N> v = unpack<double>(load_pack<N>(x + p * N));
#pragma unroll
    for (int k = 0; k < N; ++k) sums[k % 4] = Add{}(sums[k % 4], v.x[k]);
  }
  if (rest < int(c.end - c.begin)) sums[0] = Add{}(sums[0], convert<double>(x[rest]));
  const double sum = block_sum((sums[0] + sums[1]) + (sums[2] + sums[3]), parts);
  if (threadIdx.x == 0) partials[blockIdx.x] = sum;
}

static __global__ void __launch_bounds__(kThreads) joined_squares_kernel(const JoinedItem t, double* partials) {
  constexpr int N = kPackSize<__nv_bfloat16>;
  __shared__ double parts[32];
  const i64 begin = i64(blockIdx.x) * kChunk, n = min(kChunk, t.n - begin);
  const __nv_bfloat16* near = static_cast<const __nv_bfloat16*>(t.near) + begin;
  const u16* rest = static_cast<const u16*>(t.rest) + begin;
  const int packs = int(n) / N, last = packs * N + threadIdx.x;
  double sums[4] = {};
#pragma unroll 4
  for (int p = threadIdx.x; p < packs; p += kThreads) {
    const Numbers<float, N> v = joined<N>(load_pack<N>(near + p * N), load_pack<N>(rest + p * N));
#pragma unroll
    for (int k = 0; k < N; ++k) sums[k % 4] = AddSquare{}(sums[k % 4], double(v.x[k]));
  }
  if (last < int(n)) sums[0] = AddSquare{}(sums[0], double(join_float(near[last], rest[last])));
  const double sum = block_sum((sums[0] + sums[1]) + (sums[2] + sums[3]), parts);
  if (threadIdx.x == 0) partials[blockIdx.x] = sum;
}

static __global__ void __launch_bounds__(kFinishThreads) finish_kernel(i64 n, const double* partials, double* out) {
  __shared__ double parts[32];
  double sum = 0;
#pragma unroll 8
  for (i64 i = threadIdx.x; i < n; i += kFinishThreads) sum += partials[i];
  sum = block_sum(sum, parts);
  if (threadIdx.x == 0) *out = sum;
}

// A warp a row.
template <class X, int N>
static __global__ void __launch_bounds__(kThreads) marked_squares_kernel(const MarkedRows t, double* partials) {
  __shared__ double parts[32];
  const i64 begin = i64(blockIdx.x) * kRowsOfBlock, end = min(t.rows, begin + kRowsOfBlock);
  double sums[4] = {};
  for (i64 row = begin + threadIdx.x / 32; row < end; row += kThreads / 32) {
    if (!t.marks[row]) continue;
    const X* x = static_cast<const X*>(t.x) + row * t.width;
#pragma unroll 4
    for (i64 i = threadIdx.x % 32 * N; i < t.width; i += 32 * N) {
      const Numbers<double, N> v = unpack<double>(load_pack<N>(x + i));
#pragma unroll
      for (int k = 0; k < N; ++k) sums[k % 4] = fma(v.x[k], v.x[k], sums[k % 4]);
    }
  }
  const double sum = block_sum((sums[0] + sums[1]) + (sums[2] + sums[3]), parts);
  if (threadIdx.x == 0) partials[blockIdx.x] = sum;
}

i64 sum_squares_partials(std::span<const SquaresItem> items) {
  i64 partials = 0;
  for (const SquaresItem& item : items) partials += squares_partials(item.n);
  return partials;
}

void launch_sum_squares(DType dtype, std::span<const SquaresItem> items, double* partials, double* out,
                        cudaStream_t stream) {
  i64 done = 0;
  dispatch_activation(dtype, [&]<class X>() {
    for_lists(items, kChunk, [&]<int kMost>(const TensorList<SquaresItem, kMost>& list, int blocks) {
      squares_kernel<X, kMost, AddSquare><<<blocks, kThreads, 0, stream>>>(list, partials + done);
      done += blocks;
    });
  });
  finish_kernel<<<1, kFinishThreads, 0, stream>>>(done, partials, out);
  check_launch("[sum_squares] launch");
}

void launch_sum_squares(const JoinedItem& item, double* partials, double* out, cudaStream_t stream) {
  const i64 blocks = squares_partials(item.n);
  if (blocks > 0) joined_squares_kernel<<<unsigned(blocks), kThreads, 0, stream>>>(item, partials);
  finish_kernel<<<1, kFinishThreads, 0, stream>>>(blocks, partials, out);
  check_launch("[sum_squares] launch");
}

void launch_count_nonzeros(DType dtype, const SquaresItem& item, double* partials, double* out, cudaStream_t stream) {
  i64 done = 0;
  dispatch_activation(dtype, [&]<class X>() {
    for_lists(std::span(&item, 1), kChunk, [&]<int kMost>(const TensorList<SquaresItem, kMost>& list, int blocks) {
      squares_kernel<X, kMost, AddNonzero><<<blocks, kThreads, 0, stream>>>(list, partials + done);
      done += blocks;
    });
  });
  finish_kernel<<<1, kFinishThreads, 0, stream>>>(done, partials, out);
  check_launch("[count_nonzeros] launch");
}

i64 sum_squares_partials(const MarkedRows& x) { return marked_squares_partials(x.rows); }

void launch_sum_squares(DType dtype, const MarkedRows& x, double* partials, double* out, cudaStream_t stream) {
  const i64 blocks = sum_squares_partials(x);
  dispatch_activation(dtype, [&]<class X>() {
    constexpr int N = kPackSize<X>;
    const auto kernel = x.width % N == 0 ? marked_squares_kernel<X, N> : marked_squares_kernel<X, 1>;
    if (blocks > 0) kernel<<<unsigned(blocks), kThreads, 0, stream>>>(x, partials);
  });
  finish_kernel<<<1, kFinishThreads, 0, stream>>>(blocks, partials, out);
  check_launch("[sum_squares] launch");
}

__device__ inline double number(DType type, const void* x) {
  if (type == DType::f64) return *static_cast<const double*>(x);
  if (type == DType::f32) return *static_cast<const float*>(x);
  if (type == DType::f16) return convert<double>(*static_cast<const __half*>(x));
  return convert<double>(*static_cast<const __nv_bfloat16*>(x));
}

static __global__ void step_scalars_kernel(StepScalarsLaunch l, StepSums s, double* out, double* state) {
  quant::LossScale scale(l.scaling.rule);
  double inverse = 1;
  if (state) scale = loss_scale_state::read(l.scaling.rule, state), inverse = double(scale.inverse()) / l.scaling.unit;
  // If no token counts, loss and gradients are 0, not 0 / 0.
  const double squares = number(l.squares, s.squares), divisor = fmax(number(l.tokens, s.tokens), 1.0);
  const double mean = number(l.loss, s.loss) / divisor, norm = sqrt(squares) * inverse / divisor;
  const bool counts = isfinite(mean) && isfinite(norm);
  const double clipped = l.clip > 0 ? fmin(1.0, l.clip / (norm + 1e-6)) : 1.0;
  out[0] = mean;
  out[1] = norm;
  out[2] = counts ? clipped * inverse / divisor : 0.0;
  out[3] = counts;
  if (!state || l.scaling.constant) return;
  scale.update(l.scaling.rule, !counts);
  loss_scale_state::write(scale, state);
}

void launch_step_scalars(const StepScalarsLaunch& l, const StepSums& sums, double* out, double* scale,
                         cudaStream_t stream) {
  step_scalars_kernel<<<1, 1, 0, stream>>>(l, sums, out, scale);
  check_launch("[step_scalars] launch");
}

}  // namespace megalith::cuda
