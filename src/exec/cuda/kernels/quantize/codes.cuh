// Codes and scales on the device, equal to those of src/quant and of the CPU kernel to the bit.
#pragma once
#include <cuda_fp8.h>

#include "exec/cuda/kernels/magnitude.cuh"
#include "exec/cuda/kernels/quantize/quantize.h"
#include "quant/scale.h"

namespace megalith::cuda {

inline constexpr u32 kNaNBits = 0x7fc00000u;

// NaN counts as infinite.
__device__ inline float amax_of_bits(u32 bits) { return __uint_as_float(min(bits, kInfinityBits)); }

template <CodeKind kFormat>
__device__ inline u8 encode_one(float x) {
  if constexpr (kFormat == CodeKind::e2m1)
    return quant::E2M1::encode(x);
  else
    return u8(__nv_cvt_float_to_fp8(x, __NV_SATFINITE, kFormat == CodeKind::e4m3 ? __NV_E4M3 : __NV_E5M2));
}

// The code of a in the low byte.
template <CodeKind kFormat>
__device__ inline u32 encode_two(float a, float b) {
  if constexpr (kFormat == CodeKind::e2m1)
    return u32(quant::E2M1::encode(a)) | u32(quant::E2M1::encode(b)) << 8;
  else
    return __nv_cvt_float2_to_fp8x2(make_float2(a, b), __NV_SATFINITE,
                                    kFormat == CodeKind::e4m3 ? __NV_E4M3 : __NV_E5M2);
}

template <CodeKind kFormat>
__device__ inline u32 encode_four(const float (&v)[4]) {
  return encode_two<kFormat>(v[0], v[1]) | encode_two<kFormat>(v[2], v[3]) << 16;
}

struct BoxScale {
  float scale, scale_inv;
};

__device__ constexpr float largest_code(CodeKind format) { return format == CodeKind::e5m2 ? 57344.0f : 448.0f; }

// A power of two by the bits of an amax. Not finite: 1, and the inverse is NaN.
__device__ inline BoxScale power_of_two_scale(CodeKind format, u32 bits) {
  if (bits >= kInfinityBits) return {1, __uint_as_float(kNaNBits)};
  const float scale = quant::power_of_two_scale(__uint_as_float(bits), largest_code(format));
  return {scale, quant::inverse_of_power(scale)};
}

// amax: of the box; of_tensor: of the whole tensor, if the rule needs it; state: the kept scale, or 0.
__device__ inline BoxScale scale_of(const ScaleRuleOfBox& rule, float amax, float of_tensor, float state) {
  const float seen = rule.by == ScaleKind::nv ? fmaxf(amax, of_tensor) : amax;
  if (quant::is_infinite(seen)) return {state > 0 ? state : 1, __uint_as_float(kNaNBits)};
  const float top = largest_code(rule.format);
  if (rule.by == ScaleKind::mx) {
    const u8 code = quant::mx_code(amax, top);
    return {quant::E8M0::inverse(code), quant::E8M0::decode(code)};
  }
  if (rule.by == ScaleKind::nv) {
    const quant::NvScale s = quant::nv_scale(amax, quant::nv_factor(of_tensor));
    return {s.scale, s.scale_inv};
  }
  if (rule.by == ScaleKind::power_of_two) return power_of_two_scale(rule.format, __float_as_uint(amax));
  const float scale = state > 0 ? state : quant::current_scale(amax, top);
  return {scale, quant::inverse(scale)};
}
static_assert(quant::kLargest<quant::E4M3> == 448.0f && quant::kLargest<quant::E5M2> == 57344.0f);

// For a whole tensor. A cast that also computes amax knows it in advance only if there is no scale yet.
__device__ inline BoxScale tensor_scale(const ScaleRuleOfBox& rule, const CastPointers& p) {
  const float state = p.state ? *p.state : 0;
  const float amax = !p.seen ? *p.amax : state > 0 ? 0 : __uint_as_float(*p.seen);
  return scale_of(rule, amax, amax, state);
}

// One thread of the grid calls it. If the cast computes amax, a block that sees a non-finite value makes it NaN.
// Numbers above 0 have the order of their bits, and NaN is above all.
__device__ inline void put_scale_inv(const CastPointers& p, float scale_inv) {
  if (p.seen)
    atomicMax(reinterpret_cast<u32*>(p.scale_inv), __float_as_uint(scale_inv));
  else
    *p.scale_inv = scale_inv;
}

// bits: of the largest |x| of some values.
__device__ inline void put_seen(const CastPointers& p, u32 bits) {
  if (bits == 0) return;
  atomicMax(p.seen, min(bits, kInfinityBits));
  if (bits >= kInfinityBits) atomicMax(reinterpret_cast<u32*>(p.scale_inv), kNaNBits);
}

// Counts of the values that a thread's casts lose.
struct CastLosses {
  u32 saturated = 0, underflow = 0;
};
// Adds the counts of four values x. v: the scaled values. Most fours lose no value, so one test covers all four.
template <CodeKind kFormat>
__device__ inline void add_losses(const float* x, const float (&v)[4], u32 codes, CastLosses& to) {
  constexpr float kTop = kFormat == CodeKind::e4m3 ? 448.0f : kFormat == CodeKind::e5m2 ? 57344.0f : 6.0f;
  constexpr u32 kMagnitudes = kFormat == CodeKind::e2m1 ? 0x07070707u : 0x7f7f7f7fu, kTops = 0x80808080u;
  const float most = fmaxf(fmaxf(fabsf(v[0]), fabsf(v[1])), fmaxf(fabsf(v[2]), fabsf(v[3])));
  const u32 nonzero = ((codes & kMagnitudes) + 0x7f7f7f7fu) & kTops;  // the top bit of each byte that is not 0
  if (most <= kTop && nonzero == kTops) return;
#pragma unroll
  for (int e = 0; e < 4; ++e) {
    to.saturated += fabsf(v[e]) > kTop;
    to.underflow += x[e] != 0 && !(nonzero >> (8 * e + 7) & 1);
  }
}

// Sums counts over a block of kThreads threads. Call put_losses(), then __syncthreads(), then add_block_losses().
template <int kThreads>
struct BlockLosses {
  u32 of_warp[2][kThreads / 32];
};
template <int kThreads>
__device__ inline void put_losses(BlockLosses<kThreads>& shared, const CastLosses& mine) {
  const u32 saturated = __reduce_add_sync(0xffffffffu, mine.saturated),
            underflow = __reduce_add_sync(0xffffffffu, mine.underflow);
  if (threadIdx.x % 32 != 0) return;
  shared.of_warp[0][threadIdx.x / 32] = saturated, shared.of_warp[1][threadIdx.x / 32] = underflow;
}
// The sums are integers, so the order of blocks does not matter.
template <int kThreads>
__device__ inline void add_block_losses(const CastPointers& p, const BlockLosses<kThreads>& shared) {
  if (threadIdx.x >= 32) return;
#pragma unroll
  for (int k = 0; k < 2; ++k) {
    const u32 mine = threadIdx.x < kThreads / 32 ? shared.of_warp[k][threadIdx.x] : 0;
    const u32 sum = __reduce_add_sync(0xffffffffu, mine);
    if (threadIdx.x == 0 && sum > 0) atomicAdd(p.counts + k, (unsigned long long)sum);
  }
}
// Adds the counts of a cast of one value per thread. All threads of the block must call it.
template <CodeKind kFormat>
__device__ inline void count_single(const CastPointers& p, float x, float scaled, u8 code) {
  const float v[4] = {scaled, 0, 0, 0}, all[4] = {x, 0, 0, 0};
  CastLosses mine;
  add_losses<kFormat>(all, v, code, mine);
  const int saturated = __syncthreads_count(int(mine.saturated)), underflow = __syncthreads_count(int(mine.underflow));
  if (threadIdx.x != 0) return;
  if (saturated > 0) atomicAdd(p.counts, (unsigned long long)saturated);
  if (underflow > 0) atomicAdd(p.counts + 1, (unsigned long long)underflow);
}
// Calls f with a compile-time constant: true if counts are wanted.
template <class F>
void with_counts(const CastPointers& p, F&& f) {
  p.counts ? f.template operator()<true>() : f.template operator()<false>();
}

// f.template operator()<kFormat>() for formats of 8 bits; with_code() also for e2m1.
template <class F>
void with_fp8(CodeKind format, F&& f) {
  if (format == CodeKind::e4m3) return f.template operator()<CodeKind::e4m3>();
  f.template operator()<CodeKind::e5m2>();
}
template <class F>
void with_code(CodeKind format, F&& f) {
  if (format == CodeKind::e4m3) return f.template operator()<CodeKind::e4m3>();
  if (format == CodeKind::e5m2) return f.template operator()<CodeKind::e5m2>();
  f.template operator()<CodeKind::e2m1>();
}

}  // namespace megalith::cuda
