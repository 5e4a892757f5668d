// Collectives element by element: of a few elements, and for sizes, places, types and numbers of members for which
// word_kernels.cuh has no kernel.
#pragma once
#include "exec/cuda/symmetric/meeting.cuh"

namespace megalith::cuda::symmetric {

// An element a thread. It is written after all members have read it, so `to` may be `from`. Each member takes
// its own element if `unless` is not null, and *unless not 0.
template <class T, bool kLargest>
__global__ void __launch_bounds__(kThreads)
    small_all_reduce(const __grid_constant__ SymmetricGroup g, const __grid_constant__ SymmetricBuffer from, T* to,
                     i64 count, const float* unless) {
  const i64 i = i64(blockIdx.x) * kThreads + threadIdx.x;
  if (unless && *unless != 0) {
    if (i < count) to[i] = reinterpret_cast<const T*>(from.on[g.me])[i];
    return;
  }
  sum_t<T> sum = 0;
  between_meetings(g, [&] {
    if (i >= count) return;
    for (int k = 0; k < g.members; ++k) {
      const auto x = sum_t<T>(reinterpret_cast<const T*>(from.on[k])[i]);
      sum = k == 0 ? x : reduced<kLargest>(sum, x);
    }
  });
  if (i < count) to[i] = T(sum);
}

// T: bytes.
template <class T>
__global__ void __launch_bounds__(kThreads) gather_any(const __grid_constant__ SymmetricGroup g, const T* mine,
                                                       const __grid_constant__ SymmetricBuffer all, i64 count) {
  between_meetings(g, [&] {
    for_words<1>(count, [&](i64 i, int here) {
      for (int k = 0; k < g.members && here; ++k) reinterpret_cast<T*>(all.on[k])[g.me * count + i] = mine[i];
    });
  });
}

// Elements [begin, begin + count) of `from`. They go to the same place of `to` on all members, or to `mine`.
template <class T, bool kLargest>
__global__ void __launch_bounds__(kThreads)
    reduce_any(const __grid_constant__ SymmetricGroup g, const __grid_constant__ SymmetricBuffer from,
               const __grid_constant__ SymmetricBuffer to, T* mine, i64 begin, i64 count) {
  between_meetings(g, [&] {
    for_words<1>(count, [&](i64 i, int here) {
      if (!here) return;
      auto sum = sum_t<T>(reinterpret_cast<const T*>(from.on[0])[begin + i]);
      for (int k = 1; k < g.members; ++k)
        sum = reduced<kLargest>(sum, sum_t<T>(reinterpret_cast<const T*>(from.on[k])[begin + i]));
      if (mine)
        mine[i] = T(sum);
      else
        for (int k = 0; k < g.members; ++k) reinterpret_cast<T*>(to.on[k])[begin + i] = T(sum);
    });
  });
}

// Of `count` elements each member reduces `part`, the last one fewer. All members launch equally many blocks.
template <class T>
void launch_reduce_any(const SymmetricGroup& g, const SymmetricBuffer& from, const SymmetricBuffer& to, T* mine,
                       i64 part, i64 count, bool largest, cudaStream_t stream) {
  const auto kernel = largest ? reduce_any<T, true> : reduce_any<T, false>;
  const i64 begin = std::min(count, g.me * part), own = std::min(part, count - begin);
  kernel<<<blocks_of(g, part, 1), kThreads, 0, stream>>>(g, from, to, mine, begin, own);
}

}  // namespace megalith::cuda::symmetric
