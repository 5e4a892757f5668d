// The frame of kernels in symmetric memory: blocks of the same number meet before and after they move data.
#pragma once
#include "exec/cuda/kernels/pack.cuh"
#include "exec/cuda/symmetric/collectives.h"

namespace megalith::cuda::symmetric {

constexpr int kThreads = 512;

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

// `each`: words of a thread at once.
inline int blocks_of(const SymmetricGroup& g, i64 words, int each) {
  return int(std::clamp<i64>((words + kThreads * each - 1) / (kThreads * each), 1, g.blocks));
}
// Of a kernel that does not meet.
inline int blocks_for(i64 words, int each) {
  constexpr i64 kMost = 264;
  return int(std::clamp<i64>((words + kThreads * each - 1) / (kThreads * each), 1, kMost));
}

}  // namespace megalith::cuda::symmetric
