#include "exec/cuda/products/einsum.h"

#include <cuda_fp8.h>

#include "exec/cuda/launch.cuh"

namespace megalith::cuda {

constexpr int kThreads = 256;

// Loads a number of a type known only at run time. These kernels are for small or rare ops.
static __device__ double load(const void* p, DType t, i64 i) {
  if (t == DType::f32) return static_cast<const float*>(p)[i];
  if (t == DType::bf16) return float(static_cast<const __nv_bfloat16*>(p)[i]);
  if (t == DType::f16) return float(static_cast<const __half*>(p)[i]);
  return static_cast<const double*>(p)[i];
}
static __device__ void store(void* p, DType t, i64 i, double v) {
  if (t == DType::f32)
    static_cast<float*>(p)[i] = float(v);
  else if (t == DType::bf16)
    static_cast<__nv_bfloat16*>(p)[i] = __nv_bfloat16(float(v));
  else if (t == DType::f16)
    static_cast<__half*>(p)[i] = __half(float(v));
  else
    static_cast<double*>(p)[i] = v;
}

struct TermPlace {
  i64 x = 0, w = 0, y = 0;
};
static __device__ TermPlace place(const EinsumLoops& l, i64 i) {
  TermPlace at;
  for (int k = l.count - 1; k >= 0; --k) {
    const i64 rest = i / l.size[k], here = i - rest * l.size[k];
    at.x += here * l.x[k], at.w += here * l.w[k], at.y += here * l.y[k];
    i = rest;
  }
  return at;
}

static __device__ double term(const EinsumLaunch& l, const EinsumPointers& p, const TermPlace& out, i64 i) {
  const TermPlace in = place(l.inner, i);
  return load(p.x, l.x, out.x + in.x) * load(p.w, l.w, out.w + in.w);
}

static __device__ void finish(const EinsumLaunch& l, const EinsumPointers& p, i64 y, double sum) {
  if (p.bias) sum += load(p.bias, l.y, y % l.bias_n);
  if (p.plus) sum += load(p.plus, l.y, y);
  store(p.y, l.y, y, sum);
}

static __global__ void by_thread(EinsumLaunch l, EinsumPointers p) {
  const i64 o = i64(blockIdx.x) * kThreads + threadIdx.x;
  if (o >= l.outer.n) return;
  const TermPlace out = place(l.outer, o);
  double sum = 0;
  for (i64 i = 0; i < l.inner.n; ++i) sum += term(l, p, out, i);
  finish(l, p, out.y, sum);
}

static __global__ void by_block(EinsumLaunch l, EinsumPointers p) {
  __shared__ double parts[32];
  const TermPlace out = place(l.outer, blockIdx.x);
  double sum = 0;
  for (i64 i = threadIdx.x; i < l.inner.n; i += blockDim.x) sum += term(l, p, out, i);
  sum = block_sum(sum, parts);
  if (threadIdx.x == 0) finish(l, p, out.y, sum);
}

void launch(const EinsumLaunch& l, const EinsumPointers& p, cudaStream_t stream) {
  if (l.outer.n == 0) return;
  const bool few = l.inner.n >= 512 && l.outer.n < 65536;
  if (few)
    by_block<<<int(l.outer.n), l.outer.n == 1 ? 1024 : kThreads, 0, stream>>>(l, p);
  else
    by_thread<<<blocks_for(l.outer.n, kThreads), kThreads, 0, stream>>>(l, p);
  check_launch("[einsum] launch");
}

static __device__ u32 mixed(u64 i, u32 seed) {
  u64 h = (i + 0x9E3779B97F4A7C15ull * (seed + 1)) * 0xBF58476D1CE4E5B9ull;
  h = (h ^ (h >> 27)) * 0x94D049BB133111EBull;
  return u32(h >> 32);
}

template <class T>
static __global__ void normal_kernel(T* x, i64 n, u32 seed, float scale = 1) {
  for (i64 i = i64(blockIdx.x) * kThreads + threadIdx.x; i < n; i += i64(gridDim.x) * kThreads) {
    const float u = (float(mixed(u64(i), seed)) + 1) * 0x1p-32f, v = float(mixed(u64(i), ~seed)) * 0x1p-32f;
    x[i] = T(scale * sqrtf(-2 * __logf(u)) * __cosf(6.2831853f * v));
  }
}

void fill_normal(void* x, DType dtype, i64 n, u32 seed, cudaStream_t stream) {
  if (n == 0) return;
  const int blocks = int(std::min<i64>((n + kThreads - 1) / kThreads, 4096));
  constexpr float kDeviation = 6;  // values to quantize reach about this; the largest of a billion normal numbers
  if (dtype == DType::f8_e4m3)
    normal_kernel<<<blocks, kThreads, 0, stream>>>(static_cast<__nv_fp8_e4m3*>(x), n, seed, 448 / kDeviation);
  else if (dtype == DType::f8_e5m2)
    normal_kernel<<<blocks, kThreads, 0, stream>>>(static_cast<__nv_fp8_e5m2*>(x), n, seed, 57344 / kDeviation);
  else if (dtype == DType::f32)
    normal_kernel<<<blocks, kThreads, 0, stream>>>(static_cast<float*>(x), n, seed);
  else if (dtype == DType::f16)
    normal_kernel<<<blocks, kThreads, 0, stream>>>(static_cast<__half*>(x), n, seed);
  else
    normal_kernel<<<blocks, kThreads, 0, stream>>>(static_cast<__nv_bfloat16*>(x), n, seed);
  check_launch("[einsum] random numbers");
}

}  // namespace megalith::cuda
