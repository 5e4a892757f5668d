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
template <int N>
__device__ void meet(const SymmetricGroup& g, u32 meeting) {
  __syncthreads();
  if (const int k = int(threadIdx.x); k < N && k != g.me) {
    store_for_others(&g.words[k]->met[blockIdx.x][g.me], meeting);
    const u32* theirs = &g.words[g.me]->met[blockIdx.x][k];
    for (u32 looks = 1; int(load_of_others(theirs) - meeting) < 0; ++looks)
      if (looks % 4096 == 0 && *g.aborted) break;
  }
  __syncthreads();
}

// Meets before and after `work`.
template <int N, class F>
__device__ void between_meetings(const SymmetricGroup& g, F&& work) {
  u32& meetings = g.words[g.me]->meetings[blockIdx.x];
  const u32 before = meetings;
  meet<N>(g, before + 1);
  work();
  meet<N>(g, before + 2);
  if (threadIdx.x == 0) meetings = before + 2;
}

// work(i, count): words i, i + kThreads, .. of which `count` exist, for this block's words of [0, words).
template <int kUnroll, class F>
__device__ void for_words(i64 words, F&& work) {
  constexpr i64 kBlock = i64(kThreads) * kUnroll;
  for (i64 begin = blockIdx.x * kBlock; begin < words; begin += gridDim.x * kBlock) {
    const i64 i = begin + threadIdx.x;
    const i64 left = (words - i + kThreads - 1) / kThreads;
    work(i, left < 0 ? 0 : left > kUnroll ? kUnroll : int(left));
  }
}

template <class T>
__device__ inline T larger(T a, T b) {
  return a > b || a != a ? a : b;
}

// The sum or the maximum of element e of N words.
template <class T, int N, bool kLargest>
__device__ inline uint4 reduced(const uint4 (&words)[N]) {
  constexpr int kSize = 16 / sizeof(T);
  Numbers<float, kSize> out;
  Pack<T, kSize> one;
#pragma unroll
  for (int k = 0; k < N; ++k) {
    one.words[0] = words[k];
    const Numbers<float, kSize> x = unpack<float>(one);
#pragma unroll
    for (int e = 0; e < kSize; ++e)
      out.x[e] = k == 0 ? x.x[e] : kLargest ? larger(out.x[e], x.x[e]) : out.x[e] + x.x[e];
  }
  return pack<T>(out).words[0];
}

template <class T, int N, bool kLargest, int kUnroll>
__device__ inline void reduce_words(const uint4* const (&from)[N], i64 i, int count, uint4 (&out)[kUnroll]) {
  uint4 words[kUnroll][N];
#pragma unroll
  for (int u = 0; u < kUnroll; ++u)
#pragma unroll
    for (int k = 0; k < N; ++k)
      if (u < count) words[u][k] = from[k][i + u * kThreads];
#pragma unroll
  for (int u = 0; u < kUnroll; ++u)
    if (u < count) out[u] = reduced<T, N, kLargest>(words[u]);
}

template <int N>
__global__ void __launch_bounds__(kThreads) gather(const __grid_constant__ SymmetricGroup g, const uint4* mine,
                                                   const __grid_constant__ SymmetricBuffer all, i64 words) {
  uint4* to[N];  // the next member's first, so that no member receives from all at once
#pragma unroll
  for (int k = 0; k < N; ++k) to[k] = reinterpret_cast<uint4*>(all.on[(g.me + k) % N]) + g.me * words;
  const int first = to[0] == mine ? 1 : 0;
  between_meetings<N>(g, [&] {
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
  between_meetings<N>(g, [&] {
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
  between_meetings<N>(g, [&] {
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
template <class T, int N, bool kLargest>
__global__ void __launch_bounds__(kThreads)
    small_reduce(const __grid_constant__ SymmetricGroup g, const __grid_constant__ SymmetricBuffer from, T* to,
                 i64 count) {
  const i64 i = i64(blockIdx.x) * kThreads + threadIdx.x;
  float sum = 0;
  between_meetings<N>(g, [&] {
    if (i >= count) return;
#pragma unroll
    for (int k = 0; k < N; ++k) {
      const float x = float(reinterpret_cast<const T*>(from.on[k])[i]);
      sum = k == 0 ? x : kLargest ? larger(sum, x) : sum + x;
    }
  });
  if (i < count) to[i] = T(sum);
}

// f.template operator()<N>() with the number of members.
template <class F>
void by_members(int members, F&& f) {
  if (members == 2) return f.template operator()<2>();
  if (members == 4) return f.template operator()<4>();
  check(members == 8, "{} members have no symmetric kernels", members);
  f.template operator()<8>();
}

// `unroll`: words of a thread at once.
int blocks_of(const SymmetricGroup& g, i64 words, int unroll) {
  return std::clamp(blocks_for(words, i64(kThreads) * unroll), 1, g.blocks);
}

}  // namespace

}  // namespace symmetric

using namespace symmetric;

void symmetric_gather(const SymmetricGroup& g, const std::byte* mine, const SymmetricBuffer& all, i64 part,
                      cudaStream_t stream) {
  const i64 words = part / 16;
  by_members(g.members, [&]<int N>() {
    gather<N>
        <<<blocks_of(g, words, kUnroll), kThreads, 0, stream>>>(g, reinterpret_cast<const uint4*>(mine), all, words);
  });
  check_launch("[relayout] all_gather");
}

void symmetric_reduce_scatter(const SymmetricGroup& g, const SymmetricBuffer& all, std::byte* mine, i64 part,
                              DType dtype, cudaStream_t stream) {
  const i64 words = part / 16;
  dispatch_activation(dtype, [&]<class T>() {
    by_members(g.members, [&]<int N>() {
      reduce_scatter<T, N>
          <<<blocks_of(g, words, kSumUnroll<N>), kThreads, 0, stream>>>(g, all, reinterpret_cast<uint4*>(mine), words);
    });
  });
  check_launch("[relayout] reduce_scatter");
}

void symmetric_all_reduce(const SymmetricGroup& g, const SymmetricBuffer& from, const SymmetricBuffer& to, i64 bytes,
                          DType dtype, bool largest, cudaStream_t stream) {
  const i64 words = bytes / 16;
  dispatch_activation(dtype, [&]<class T>() {
    by_members(g.members, [&]<int N>() {
      const auto kernel = largest ? all_reduce<T, N, true> : all_reduce<T, N, false>;
      kernel<<<blocks_of(g, (words + N - 1) / N, kSumUnroll<N>), kThreads, 0, stream>>>(g, from, to, words);
    });
  });
  check_launch("[relayout] all_reduce");
}

void symmetric_small_reduce(const SymmetricGroup& g, const SymmetricBuffer& from, std::byte* to, i64 count, DType dtype,
                            bool largest, cudaStream_t stream) {
  dispatch_activation(dtype, [&]<class T>() {
    by_members(g.members, [&]<int N>() {
      const auto kernel = largest ? small_reduce<T, N, true> : small_reduce<T, N, false>;
      kernel<<<blocks_for(count, kThreads), kThreads, 0, stream>>>(g, from, reinterpret_cast<T*>(to), count);
    });
  });
  check_launch("[relayout] all_reduce");
}

}  // namespace megalith::cuda
