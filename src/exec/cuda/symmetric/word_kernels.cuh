// Collectives that move words of 16 bytes, for 2, 4 or 8 members.
#pragma once
#include "exec/cuda/symmetric/meeting.cuh"

namespace megalith::cuda::symmetric {

// Words of each thread that are under way at once: of a copy, and of each member in a sum.
constexpr int kUnroll = 4;
template <int N>
constexpr int kSumUnroll = N >= 8 ? 1 : 8 / N;

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

template <int N>
struct Terms {
  const uint4* of[N];
};

// The sum of arrays of this GPU, in the members' order. `sum` may be one of them.
template <class T, int N>
__global__ void __launch_bounds__(kThreads) add(const __grid_constant__ Terms<N> terms, uint4* sum, i64 words) {
  const uint4* from[N];
#pragma unroll
  for (int k = 0; k < N; ++k) from[k] = terms.of[k];
  for_words<kSumUnroll<N>>(words, [&](i64 i, int count) {
    uint4 sums[kSumUnroll<N>];
    reduce_words<T, N, false>(from, i, count, sums);
#pragma unroll
    for (int u = 0; u < kSumUnroll<N>; ++u)
      if (u < count) sum[i + u * kThreads] = sums[u];
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

}  // namespace megalith::cuda::symmetric
