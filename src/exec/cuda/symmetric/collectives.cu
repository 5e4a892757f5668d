#include "exec/cuda/symmetric/collectives.h"

#include "exec/cuda/kernels/pack.cuh"

namespace megalith::cuda {

namespace symmetric {  // profilers and bench/gpu_trace.cpp know transfers by this name

namespace {

constexpr int kThreads = 512;
// 16-byte words of each thread that are under way at once: of a copy, and of each member in a sum.
constexpr int kUnroll = 4;
template <int N>
constexpr int kSumUnroll = N >= 8 ? 1 : 8 / N;
// Up to this many elements each member reads all: less waiting, more bytes.
constexpr i64 kSmall = 16384;

__device__ inline void store_for_others(u32* to, u32 value) {
  asm volatile("st.release.sys.global.u32 [%0], %1;" ::"l"(to), "r"(value) : "memory");
}
__device__ inline u32 load_of_others(const u32* from) {
  u32 value;
  asm volatile("ld.acquire.sys.global.u32 %0, [%1];" : "=r"(value) : "l"(from) : "memory");
  return value;
}

// Waits until the blocks of this number on all members have come here. All memory that they wrote before is then
// visible. `meeting`: its number. Numbers wrap, so their difference is compared.
__device__ inline void meet(const SymmetricGroup& g, u32 meeting) {
  __syncthreads();
  if (const int k = int(threadIdx.x); k < g.members && k != g.me) {
    store_for_others(&g.words[k]->met[blockIdx.x][g.me], meeting);
    const u32* theirs = &g.words[g.me]->met[blockIdx.x][k];
    for (u32 looks = 1; int(load_of_others(theirs) - meeting) < 0; ++looks)
      if (looks % 4096 == 0 && *g.aborted) break;
  }
  __syncthreads();
}

// Meets before and after `work`.
template <class F>
__device__ inline void between_meetings(const SymmetricGroup& g, F&& work) {
  u32& meetings = g.words[g.me]->meetings[blockIdx.x];
  const u32 before = meetings;
  meet(g, before + 1);
  work();
  meet(g, before + 2);
  if (threadIdx.x == 0) meetings = before + 2;
}

// work(i, count): words i, i + kThreads, .. of which `count` exist, for this block's words of [0, words).
template <int kEach, class F>
__device__ inline void for_words(i64 words, F&& work) {
  constexpr i64 kBlock = i64(kThreads) * kEach;
  for (i64 begin = blockIdx.x * kBlock; begin < words; begin += gridDim.x * kBlock) {
    const i64 i = begin + threadIdx.x;
    const i64 left = (words - i + kThreads - 1) / kThreads;
    work(i, left < 0 ? 0 : left > kEach ? kEach : int(left));
  }
}

// The type in which T is added.
template <class T>
using sum_t = std::conditional_t<std::is_same_v<T, i32>, i32, accum_t<T>>;

template <bool kLargest, class S>
__device__ inline S reduced(S a, S b) {
  if constexpr (!kLargest) return a + b;
  return a > b || a != a ? a : b;
}

// The sum or the maximum of N words, element by element.
template <class T, int N, bool kLargest>
__device__ inline uint4 reduced_words(const uint4 (&words)[N]) {
  constexpr int kSize = 16 / sizeof(T);
  Numbers<float, kSize> out;
  Pack<T, kSize> one;
#pragma unroll
  for (int k = 0; k < N; ++k) {
    one.words[0] = words[k];
    const Numbers<float, kSize> x = unpack<float>(one);
#pragma unroll
    for (int e = 0; e < kSize; ++e) out.x[e] = k == 0 ? x.x[e] : reduced<kLargest>(out.x[e], x.x[e]);
  }
  return pack<T>(out).words[0];
}

template <class T, int N, bool kLargest, int kEach>
__device__ inline void reduce_words(const uint4* const (&from)[N], i64 i, int count, uint4 (&out)[kEach]) {
  uint4 words[kEach][N];
#pragma unroll
  for (int u = 0; u < kEach; ++u)
#pragma unroll
    for (int k = 0; k < N; ++k)
      if (u < count) words[u][k] = from[k][i + u * kThreads];
#pragma unroll
  for (int u = 0; u < kEach; ++u)
    if (u < count) out[u] = reduced_words<T, N, kLargest>(words[u]);
}

template <int N>
__global__ void __launch_bounds__(kThreads) gather(const __grid_constant__ SymmetricGroup g, const uint4* mine,
                                                   const __grid_constant__ SymmetricBuffer all, i64 words) {
  uint4* to[N];  // the next member's first, so that no member receives from all at once
#pragma unroll
  for (int k = 0; k < N; ++k) to[k] = reinterpret_cast<uint4*>(all.on[(g.me + k) % N]) + g.me * words;
  const int first = to[0] == mine ? 1 : 0;
  between_meetings(g, [&] {
    for_words<kUnroll>(words, [&](i64 i, int count) {
      uint4 x[kUnroll];
#pragma unroll
      for (int u = 0; u < kUnroll; ++u)
        if (u < count) x[u] = mine[i + u * kThreads];
#pragma unroll
      for (int k = 0; k < N; ++k)
#pragma unroll
        for (int u = 0; u < kUnroll; ++u)
          if (u < count && k >= first) to[k][i + u * kThreads] = x[u];
    });
  });
}

template <class T, int N>
__global__ void __launch_bounds__(kThreads)
    reduce_scatter(const __grid_constant__ SymmetricGroup g, const __grid_constant__ SymmetricBuffer all, uint4* mine,
                   i64 words) {
  const uint4* from[N];
#pragma unroll
  for (int k = 0; k < N; ++k) from[k] = reinterpret_cast<const uint4*>(all.on[k]) + g.me * words;
  between_meetings(g, [&] {
    for_words<kSumUnroll<N>>(words, [&](i64 i, int count) {
      uint4 sums[kSumUnroll<N>];
      reduce_words<T, N, false>(from, i, count, sums);
#pragma unroll
      for (int u = 0; u < kSumUnroll<N>; ++u)
        if (u < count) mine[i + u * kThreads] = sums[u];
    });
  });
}

// Each member reduces one part, and writes it to all. Only it reads or writes that part, so `to` may be `from`.
template <class T, int N, bool kLargest>
__global__ void __launch_bounds__(kThreads)
    all_reduce(const __grid_constant__ SymmetricGroup g, const __grid_constant__ SymmetricBuffer from,
               const __grid_constant__ SymmetricBuffer to, i64 words) {
  const i64 part = (words + N - 1) / N, begin = min(words, g.me * part), end = min(words, begin + part);
  const uint4* in[N];
  uint4* out[N];
#pragma unroll
  for (int k = 0; k < N; ++k)
    in[k] = reinterpret_cast<const uint4*>(from.on[k]) + begin,
    out[k] = reinterpret_cast<uint4*>(to.on[(g.me + k) % N]) + begin;
  between_meetings(g, [&] {
    for_words<kSumUnroll<N>>(end - begin, [&](i64 i, int count) {
      uint4 sums[kSumUnroll<N>];
      reduce_words<T, N, kLargest>(in, i, count, sums);
#pragma unroll
      for (int k = 0; k < N; ++k)
#pragma unroll
        for (int u = 0; u < kSumUnroll<N>; ++u)
          if (u < count) out[k][i + u * kThreads] = sums[u];
    });
  });
}

// An element a thread. It is written after all members have read it, so `to` may be `from`.
template <class T, bool kLargest>
__global__ void __launch_bounds__(kThreads)
    small_all_reduce(const __grid_constant__ SymmetricGroup g, const __grid_constant__ SymmetricBuffer from, T* to,
                     i64 count) {
  const i64 i = i64(blockIdx.x) * kThreads + threadIdx.x;
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

// Element by element, for sizes, places, types and numbers of members that the kernels above do not have. T: bytes.
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

// f.template operator()<N>() with the number of members, if there are kernels for it.
template <class F>
void by_members(int members, F&& f) {
  if (members == 2) return f.template operator()<2>();
  if (members == 4) return f.template operator()<4>();
  f.template operator()<8>();
}

template <class F>
void by_type(DType dtype, F&& f) {
  if (dtype == DType::i32) return f.template operator()<i32>();
  dispatch(dtype, std::forward<F>(f));
}

// `each`: words of a thread at once.
int blocks_of(const SymmetricGroup& g, i64 words, int each) {
  return int(std::clamp<i64>((words + kThreads * each - 1) / (kThreads * each), 1, g.blocks));
}

bool has_words(const SymmetricGroup& g, const void* a, const void* b, i64 bytes) {
  const bool members = g.members == 2 || g.members == 4 || g.members == 8;
  return members && (reinterpret_cast<u64>(a) | reinterpret_cast<u64>(b) | u64(bytes)) % 16 == 0;
}
bool has_words(const SymmetricGroup& g, const void* a, const void* b, i64 bytes, DType dtype) {
  const bool type = dtype == DType::f32 || dtype == DType::bf16 || dtype == DType::f16;
  return type && has_words(g, a, b, bytes);
}

// Of `count` elements each member reduces `part`, the last one fewer. All members launch equally many blocks.
template <class T>
void launch_reduce_any(const SymmetricGroup& g, const SymmetricBuffer& from, const SymmetricBuffer& to, T* mine,
                       i64 part, i64 count, bool largest, cudaStream_t stream) {
  const auto kernel = largest ? reduce_any<T, true> : reduce_any<T, false>;
  const i64 begin = std::min(count, g.me * part), own = std::min(part, count - begin);
  kernel<<<blocks_of(g, part, 1), kThreads, 0, stream>>>(g, from, to, mine, begin, own);
}

}  // namespace

}  // namespace symmetric

using namespace symmetric;

void symmetric_gather(const SymmetricGroup& g, const std::byte* mine, const SymmetricBuffer& all, i64 part,
                      cudaStream_t stream) {
  if (has_words(g, mine, all.on[g.me], part)) {
    by_members(g.members, [&]<int N>() {
      gather<N><<<blocks_of(g, part / 16, kUnroll), kThreads, 0, stream>>>(g, reinterpret_cast<const uint4*>(mine), all,
                                                                           part / 16);
    });
  } else {
    gather_any<<<blocks_of(g, part, 1), kThreads, 0, stream>>>(g, reinterpret_cast<const u8*>(mine), all, part);
  }
  check_launch("[relayout] all_gather");
}

void symmetric_reduce_scatter(const SymmetricGroup& g, const SymmetricBuffer& all, std::byte* mine, i64 part,
                              DType dtype, cudaStream_t stream) {
  const i64 bytes = part * size_of(dtype);
  if (has_words(g, mine, all.on[g.me], bytes, dtype)) {
    dispatch_activation(dtype, [&]<class T>() {
      by_members(g.members, [&]<int N>() {
        reduce_scatter<T, N><<<blocks_of(g, bytes / 16, kSumUnroll<N>), kThreads, 0, stream>>>(
            g, all, reinterpret_cast<uint4*>(mine), bytes / 16);
      });
    });
  } else {
    by_type(dtype, [&]<class T>() {
      launch_reduce_any<T>(g, all, {}, reinterpret_cast<T*>(mine), part, part * g.members, false, stream);
    });
  }
  check_launch("[relayout] reduce_scatter");
}

void symmetric_all_reduce(const SymmetricGroup& g, const SymmetricBuffer& from, const SymmetricBuffer& to, i64 count,
                          DType dtype, bool largest, cudaStream_t stream) {
  const i64 bytes = count * size_of(dtype);
  if (count <= kSmall) {
    by_type(dtype, [&]<class T>() {
      const auto kernel = largest ? small_all_reduce<T, true> : small_all_reduce<T, false>;
      kernel<<<int(std::max<i64>(1, (count + kThreads - 1) / kThreads)), kThreads, 0, stream>>>(
          g, from, reinterpret_cast<T*>(to.on[g.me]), count);
    });
  } else if (has_words(g, from.on[g.me], to.on[g.me], bytes, dtype)) {
    dispatch_activation(dtype, [&]<class T>() {
      by_members(g.members, [&]<int N>() {
        const auto kernel = largest ? all_reduce<T, N, true> : all_reduce<T, N, false>;
        const i64 words = bytes / 16;
        kernel<<<blocks_of(g, (words + N - 1) / N, kSumUnroll<N>), kThreads, 0, stream>>>(g, from, to, words);
      });
    });
  } else {
    by_type(dtype, [&]<class T>() {
      launch_reduce_any<T>(g, from, to, nullptr, (count + g.members - 1) / g.members, count, largest, stream);
    });
  }
  check_launch("[relayout] all_reduce");
}

}  // namespace megalith::cuda
