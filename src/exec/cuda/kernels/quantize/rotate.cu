// A thread has the 16 tokens of a column. Sums are f64, in the order of quant::rotate_16.
#include "exec/cuda/kernels/quantize/codes.cuh"

namespace megalith::cuda {
namespace {

constexpr int kTokens = 16, kThreads = 128;

// As in quant/nvfp4.cpp: bit i is set if sign i is -1.
constexpr u32 kNegative = 0b1101'0111'1110'1000;

template <class X>
__global__ void rotate_kernel(const X* x, X* y, i64 columns) {
  const i64 c = i64(blockIdx.x) * kThreads + threadIdx.x, at = i64(blockIdx.y) * kTokens * columns + c;
  if (c >= columns) return;
  double v[kTokens];
#pragma unroll
  for (int i = 0; i < kTokens; ++i) {
    v[i] = double(convert<accum_t<X>>(x[at + i * columns]));
    if (kNegative >> i & 1) v[i] = -v[i];
  }
#pragma unroll
  for (int half = 1; half < kTokens; half *= 2)
#pragma unroll
    for (int i = 0; i < kTokens; ++i)
      if ((i & half) == 0) {
        const double a = v[i], b = v[i + half];
        v[i] = a + b, v[i + half] = a - b;
      }
#pragma unroll
  for (int i = 0; i < kTokens; ++i) y[at + i * columns] = convert<X>(accum_t<X>(v[i] * 0.25));
}

}  // namespace

void launch(const RotateLaunch& l, const void* x, void* y, cudaStream_t stream) {
  if (l.tokens * l.columns == 0) return;
  const dim3 grid(unsigned(blocks_for(l.columns, kThreads)), unsigned(l.tokens / kTokens));
  dispatch(l.x, [&]<class X>() {
    rotate_kernel<<<grid, kThreads, 0, stream>>>(static_cast<const X*>(x), static_cast<X*>(y), l.columns);
  });
  check_launch("[rotate_tokens] launch");
}

}  // namespace megalith::cuda
