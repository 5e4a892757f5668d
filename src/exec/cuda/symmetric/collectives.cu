#include "exec/cuda/symmetric/collectives.h"

#include "exec/cuda/symmetric/element_kernels.cuh"
#include "exec/cuda/symmetric/word_kernels.cuh"

namespace megalith::cuda {

using namespace symmetric;  // profilers and bench/gpu_trace.cpp know transfers by this name

namespace {

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

bool moves_words(const SymmetricGroup& g, const void* a, const void* b, i64 bytes) {
  const bool members = g.members == 2 || g.members == 4 || g.members == 8;
  return members && (reinterpret_cast<u64>(a) | reinterpret_cast<u64>(b) | u64(bytes)) % 16 == 0;
}

int small_blocks(i64 count) { return int(std::max<i64>(1, (count + kThreads - 1) / kThreads)); }

template <class T, int N>
void load_words() {
  cudaFuncAttributes ignored;
  cudaFuncGetAttributes(&ignored, gather<N>);
  cudaFuncGetAttributes(&ignored, reduce_scatter<T, N>);
  cudaFuncGetAttributes(&ignored, add<T, N>);
  cudaFuncGetAttributes(&ignored, all_reduce<T, N, false>);
  cudaFuncGetAttributes(&ignored, all_reduce<T, N, true>);
}

template <class T>
void load_elements() {
  cudaFuncAttributes ignored;
  cudaFuncGetAttributes(&ignored, small_all_reduce<T, false>);
  cudaFuncGetAttributes(&ignored, small_all_reduce<T, true>);
  cudaFuncGetAttributes(&ignored, reduce_any<T, false>);
  cudaFuncGetAttributes(&ignored, reduce_any<T, true>);
}

}  // namespace

bool has_words(const SymmetricGroup& g, const void* a, const void* b, i64 bytes, DType dtype) {
  const bool type = dtype == DType::f32 || dtype == DType::bf16 || dtype == DType::f16;
  return type && moves_words(g, a, b, bytes);
}

void load_symmetric_kernels() {
  for (const DType t : {DType::f32, DType::bf16, DType::f16, DType::f64, DType::i32})
    by_type(t, []<class T>() { load_elements<T>(); });
  for (const DType t : {DType::f32, DType::bf16, DType::f16})
    for (const int members : {2, 4, 8})
      dispatch_activation(t, [&]<class T>() { by_members(members, []<int N>() { load_words<T, N>(); }); });
  cudaFuncAttributes ignored;
  cudaFuncGetAttributes(&ignored, gather_any<u8>);
  cudaGetLastError();  // clears an error, which the first launch repeats
}

void symmetric_gather(const SymmetricGroup& g, const std::byte* mine, const SymmetricBuffer& all, i64 part,
                      cudaStream_t stream) {
  if (moves_words(g, mine, all.on[g.me], part)) {
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

void symmetric_add(const SymmetricGroup& g, const std::byte* const (&terms)[kMostMembers], std::byte* mine, i64 part,
                   DType dtype, cudaStream_t stream) {
  const i64 words = part * size_of(dtype) / 16;
  dispatch_activation(dtype, [&]<class T>() {
    by_members(g.members, [&]<int N>() {
      Terms<N> from;
      for (int k = 0; k < N; ++k) from.of[k] = reinterpret_cast<const uint4*>(terms[k]);
      add<T, N><<<blocks_for(words, kSumUnroll<N>), kThreads, 0, stream>>>(from, reinterpret_cast<uint4*>(mine), words);
    });
  });
  check_launch("[relayout] reduce_scatter");
}

void symmetric_all_reduce(const SymmetricGroup& g, const SymmetricBuffer& from, const SymmetricBuffer& to, i64 count,
                          DType dtype, bool largest, cudaStream_t stream) {
  const i64 bytes = count * size_of(dtype);
  if (count <= kSmallReduction) {
    by_type(dtype, [&]<class T>() {
      const auto kernel = largest ? small_all_reduce<T, true> : small_all_reduce<T, false>;
      kernel<<<small_blocks(count), kThreads, 0, stream>>>(g, from, reinterpret_cast<T*>(to.on[g.me]), count, nullptr);
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

void symmetric_max_unless(const SymmetricGroup& g, const float* unless, const SymmetricBuffer& from, std::byte* to,
                          i64 count, cudaStream_t stream) {
  small_all_reduce<float, true>
      <<<small_blocks(count), kThreads, 0, stream>>>(g, from, reinterpret_cast<float*>(to), count, unless);
  check_launch("[shared_amax]");
}

}  // namespace megalith::cuda
