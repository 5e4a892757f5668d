// A warp has a token.
#include "exec/cuda/kernels/experts/token_gate.h"

#include "exec/cuda/kernels/device_math.cuh"
#include "exec/cuda/kernels/pack.cuh"

namespace megalith::cuda {

namespace {

constexpr int kWarps = 8;

template <class T, int N>
__global__ void __launch_bounds__(32 * kWarps) gate_kernel(TokenGateLaunch l, const T* x, const float* g, T* y) {
  const i64 token = i64(blockIdx.x) * kWarps + threadIdx.x / 32;
  if (token >= l.tokens) return;
  const float s = l.logistic ? logistic<true>(g[token]).s : g[token];
  for (i64 i = i64(threadIdx.x % 32) * N; i < l.h; i += 32 * N) {
    Numbers<float, N> v = unpack<float>(load_pack<N>(x + token * l.h + i));
#pragma unroll
    for (int k = 0; k < N; ++k) v.x[k] *= s;
    store_pack(y + token * l.h + i, v);
  }
}

template <class T, int N>
__global__ void __launch_bounds__(32 * kWarps) gate_grad_kernel(TokenGateLaunch l, TokenGateGradBuffers b) {
  const i64 token = i64(blockIdx.x) * kWarps + threadIdx.x / 32;
  if (token >= l.tokens) return;
  const T *dy = static_cast<const T*>(b.dy) + token * l.h, *x = static_cast<const T*>(b.x) + token * l.h;
  T* dx = static_cast<T*>(b.dx) + token * l.h;
  const Logistic at = l.logistic ? logistic<true>(b.g[token]) : Logistic{b.g[token], 0};
  float sum = 0;
  for (i64 i = i64(threadIdx.x % 32) * N; i < l.h; i += 32 * N) {
    Numbers<float, N> d = unpack<float>(load_pack<N>(dy + i));
    const Numbers<float, N> v = unpack<float>(load_pack<N>(x + i));
#pragma unroll
    for (int k = 0; k < N; ++k) sum = fmaf(d.x[k], v.x[k], sum), d.x[k] *= at.s;
    store_pack(dx + i, d);
  }
  sum = warp_sum(sum);
  if (threadIdx.x % 32 == 0) b.dg[token] = l.logistic ? sum * at.s * at.rest : sum;
}

// Calls g with the element type, and the size of the packs that divides h.
template <class G>
void with_packs(const TokenGateLaunch& l, G&& g) {
  if (l.tokens * l.h == 0) return;
  dispatch_activation(l.dtype, [&]<class T>() {
    if (l.h % kPackSize<T> == 0)
      g.template operator()<T, kPackSize<T>>();
    else
      g.template operator()<T, 1>();
  });
}

}  // namespace

void launch_token_gate(const TokenGateLaunch& l, const void* x, const float* g, void* y, cudaStream_t stream) {
  with_packs(l, [&]<class T, int N>() {
    gate_kernel<T, N>
        <<<blocks_for(l.tokens, kWarps), 32 * kWarps, 0, stream>>>(l, static_cast<const T*>(x), g, static_cast<T*>(y));
  });
  check_launch("[token_gate] launch");
}

void launch_token_gate_grad(const TokenGateLaunch& l, const TokenGateGradBuffers& b, cudaStream_t stream) {
  with_packs(l, [&]<class T, int N>() {
    gate_grad_kernel<T, N><<<blocks_for(l.tokens, kWarps), 32 * kWarps, 0, stream>>>(l, b);
  });
  check_launch("[token_gate_grad] launch");
}

}  // namespace megalith::cuda
