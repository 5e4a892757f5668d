// Boxes of any sizes. By the size of a box, one thread, a warp or a block finds its amax. Then each thread casts
// elements.
#include <algorithm>

#include "base/rng.h"
#include "exec/cuda/kernels/quantize/codes.cuh"
#include "quant/stochastic.h"

namespace megalith::cuda {
namespace {

constexpr int kThreads = 128;

// The maximum over the threads of a box: its block, a warp, or one thread.
template <int kTogether>
__device__ inline u32 largest_of_box(u32 most) {
  if constexpr (kTogether > 1) most = __reduce_max_sync(0xffffffffu, most);
  if constexpr (kTogether > 32) {
    __shared__ u32 of_warp[kThreads / 32];
    if (threadIdx.x % 32 == 0) of_warp[threadIdx.x / 32] = most;
    __syncthreads();
    for (u32 of_another : of_warp) most = max(most, of_another);
  }
  return most;
}

// kTogether: threads of a box.
template <class X, int kTogether>
__global__ void __launch_bounds__(kThreads)
    box_scale_kernel(const __grid_constant__ BoxLaunch l, CastPointers p, float* scales) {
  const i64 number = (i64(blockIdx.x) * kThreads + threadIdx.x) / kTogether;
  if (number >= l.boxes) return;  // all threads of the box
  i64 begin[BoxLaunch::kMostDims], length[BoxLaunch::kMostDims], elements = 1;
  i64 box = number;
  for (int d = l.dims - 1; d >= 0; --d) {
    begin[d] = box % l.grid[d] * l.box[d], box /= l.grid[d];
    length[d] = min(l.box[d], l.size[d] - begin[d]);
    elements *= length[d];
  }
  u32 most = 0;
  for (i64 i = threadIdx.x % kTogether; i < elements; i += kTogether) {
    i64 rest = i, at = 0, stride = 1;
    for (int d = l.dims - 1; d >= 0; --d) {
      at += (begin[d] + rest % length[d]) * stride;
      rest /= length[d], stride *= l.size[d];
    }
    most = max(most, magnitude_of(static_cast<const X*>(p.x)[at]));
  }
  most = largest_of_box<kTogether>(most);
  if (threadIdx.x % kTogether > 0) return;
  const BoxScale s = scale_of(l.rule, amax_of_bits(most), p.amax ? *p.amax : 0, 0);
  scales[number] = s.scale, p.scale_inv[number] = s.scale_inv;
}

template <class X>
void launch_box_scales(const BoxLaunch& l, const CastPointers& p, float* scales, cudaStream_t stream) {
  i64 largest = 1;
  for (int d = 0; d < l.dims; ++d) largest *= std::min(l.box[d], l.size[d]);
  const auto with = [&]<int kTogether>() {
    box_scale_kernel<X, kTogether><<<blocks_for(l.boxes * kTogether, kThreads), kThreads, 0, stream>>>(l, p, scales);
  };
  if (largest <= 32)
    with.template operator()<1>();
  else if (largest <= 1024)
    with.template operator()<32>();
  else
    with.template operator()<kThreads>();
}

// Random bits depend on the seed, the sample number and the other global indices, as in the CPU kernel.
__device__ inline u32 random_bits(const BoxLaunch& l, const i64* place, const i64* numbers) {
  u64 h = mix(l.seed, u64(numbers[place[1]]));
  for (int d = 0; d + 1 < l.dims; ++d)
    if (d != 1) h = mix(h, u64(l.index[d][place[d]]));
  return u32(mix(h, u64(l.index[l.dims - 1][place[l.dims - 1]])) >> 32);
}

template <class X, CodeKind kFormat>
__global__ void __launch_bounds__(kThreads)
    box_cast_kernel(const __grid_constant__ BoxLaunch l, CastPointers p, const float* scales, const i64* numbers) {
  const i64 own = i64(blockIdx.x) * kThreads + threadIdx.x, i = min(own, l.elements - 1);
  i64 place[BoxLaunch::kMostDims], rest = i, box = 0, stride = 1;
  for (int d = l.dims - 1; d >= 0; --d) {
    place[d] = rest % l.size[d], rest /= l.size[d];
    box += place[d] / l.box[d] * stride, stride *= l.grid[d];
  }
  const float number = as_float(static_cast<const X*>(p.x)[i]), x = number * scales[box];
  u8 code;
  if constexpr (kFormat == CodeKind::e2m1)
    code = l.stochastic ? quant::encode_e2m1_stochastic(x, random_bits(l, place, numbers)) : encode_one<kFormat>(x);
  else
    code = encode_one<kFormat>(x);
  if (p.counts) count_single<kFormat>(p, own < l.elements ? number : 0, own < l.elements ? x : 0, code);
  if (own >= l.elements) return;
  if (p.codes) p.codes[i] = code;
  if (!p.codes_t) return;
  const i64 row = i / l.columns;
  p.codes_t[i % l.columns * l.rows + row % l.parts * (l.rows / l.parts) + row / l.parts] = code;
}

}  // namespace

void launch(const BoxLaunch& l, const CastPointers& p, float* scales, const i64* numbers, cudaStream_t stream) {
  start_counts(p, stream);
  if (l.elements == 0) return;
  dispatch(l.x, [&]<class X>() {
    launch_box_scales<X>(l, p, scales, stream);
    with_code(l.rule.format, [&]<CodeKind kFormat>() {
      box_cast_kernel<X, kFormat><<<blocks_for(l.elements, kThreads), kThreads, 0, stream>>>(l, p, scales, numbers);
    });
  });
  check_launch("[quantize] launch of boxes");
}

}  // namespace megalith::cuda
