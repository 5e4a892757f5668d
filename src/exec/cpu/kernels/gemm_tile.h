// The innermost part of Gemm: one tile of C, in registers over the k steps of two packed panels.
//
// A is packed in panels of kRows rows, B in panels of kCols columns, both with k outermost. So at step k the tile reads
// kRows numbers of A and kCols of B in sequence. Strides and types do not matter. Meanwhile it prefetches the lines of
// C that it will write, and lines that the thread reads next (Ahead). It prefetches few lines at even distances,
// because cores have few line buffers, and the operands need them too. It uses the compiler's vector types, with
// vectors of the target's full width (64 bytes with AVX-512).
//
// P is the type of one packed step of k: float or double for one element, u32 for a pair of bf16.
#pragma once
#include <array>
#include <type_traits>
#include <utility>

#include "exec/cpu/vector.h"

namespace megalith::cpu::gemm {

constexpr bool kWide = kVectorBytes >= 64;  // 32 vector registers, else 16

template <class P>
constexpr bool kPairs = std::is_same_v<P, u32>;
template <class P>
constexpr i64 kElements = kPairs<P> ? 2 : 1;  // of k in one step
template <class P>
using sum_t = std::conditional_t<kPairs<P>, float, P>;

template <class P>
struct Tile {
  static constexpr i64 kLanes = cpu::kLanes<P>;
  static constexpr i64 kRows = kWide ? 8 : 4;
  static constexpr i64 kVectors = 3;  // 8 * 3 sums, 3 of B and one of A fit the registers
  static constexpr i64 kCols = kVectors * kLanes;
};

constexpr i64 kGroup = 8;  // steps of k between two prefetches

// Memory to prefetch into the L2 cache: `runs` runs of `bytes` bytes, which are `stride` bytes apart.
struct Lines {
  const std::byte* at = nullptr;
  i64 bytes = 0, stride = 0, runs = 0;
  i64 done = 0;  // bytes of the current run

  i64 count() const { return runs * ((bytes + 63) / 64); }
  void ask() {
    __builtin_prefetch(at + done, 0, 2);
    done += 64;
    if (done >= bytes) done = 0, at += stride, --runs;
  }
};

struct Ahead {
  Lines next, later;  // `next` is prefetched first
  i64 burst = 1;      // lines of one prefetch

  void ask() {
    for (i64 i = 0; i < burst; ++i)
      if (Lines& l = next.runs > 0 ? next : later; l.runs > 0) l.ask();
  }
};

// Where a tile goes: rows of full vectors, `row` elements apart. `add`: adds to them. Otherwise overwrites them.
// `lines`: rows of the memory to prefetch, which is `c` or the final destination of the sums.
template <class S>
struct Target {
  S* c;
  i64 row;
  bool add;
  const std::byte* lines;
  i64 lines_row;
};

// Adds the product of each lane. VDPBF16PS adds both products of a pair, and takes subnormal numbers for 0.
template <class P>
[[gnu::always_inline]] inline void multiply_add(Vec<sum_t<P>>& sum, Vec<P> a, Vec<P> b) {
  if constexpr (kPairs<P>)
    asm("vdpbf16ps %2, %1, %0" : "+v"(sum) : "v"(a), "v"(b));
  else
    sum += a * b;
}

template <class P, int R, int V>
void tile(const P* a, const P* b, i64 k, const Target<sum_t<P>>& to, Ahead& ahead) {
  using T = Tile<P>;
  using S = sum_t<P>;
  Vec<S> sums[R][V];
#pragma GCC unroll 8
  for (int r = 0; r < R; ++r)
#pragma GCC unroll 3
    for (int v = 0; v < V; ++v) sums[r][v] = Vec<S>{};
  auto step = [&]() __attribute__((always_inline)) {
    Vec<P> bv[V];
#pragma GCC unroll 3
    for (int v = 0; v < V; ++v) bv[v] = *reinterpret_cast<const Vec<P>*>(b + v * T::kLanes);
#pragma GCC unroll 8
    for (int r = 0; r < R; ++r) {
      const Vec<P> ar = fill(a[r]);
#pragma GCC unroll 3
      for (int v = 0; v < V; ++v) multiply_add<P>(sums[r][v], ar, bv[v]);
    }
    a += T::kRows, b += T::kCols;
  };
  // Prefetches rows of C early enough to arrive, and late enough to be in the L1 cache at the end.
  const i64 groups = k / kGroup, c_begin = groups > 2 * R ? groups - 2 * R : 0;
  for (i64 g = 0; g < groups; ++g) {
    ahead.ask();
    if (const i64 r = g - c_begin; r >= 0 && r < R)
#pragma GCC unroll 3
      for (int v = 0; v < V; ++v) __builtin_prefetch(to.lines + r * to.lines_row + v * kVectorBytes, 1);
#pragma GCC unroll 8
    for (i64 u = 0; u < kGroup; ++u) step();
  }
  for (i64 p = groups * kGroup; p < k; ++p) step();
  if (to.add)  // all loads precede the first store, because a load with a store's page offset waits for it
#pragma GCC unroll 8
    for (int r = 0; r < R; ++r)
#pragma GCC unroll 3
      for (int v = 0; v < V; ++v) sums[r][v] += load(to.c + r * to.row + v * T::kLanes);
#pragma GCC unroll 8
  for (int r = 0; r < R; ++r)
#pragma GCC unroll 3
    for (int v = 0; v < V; ++v) store(to.c + r * to.row + v * T::kLanes, sums[r][v]);
}

// Returns tile<P, rows, vectors> for numbers that are known only at run time.
template <class P>
auto tile_of(i64 rows, i64 vectors) {
  using T = Tile<P>;
  using F = void (*)(const P*, const P*, i64, const Target<sum_t<P>>&, Ahead&);
  static constexpr auto table = []<size_t... I>(std::index_sequence<I...>) {
    return std::array<F, sizeof...(I)>{&tile<P, int(I / T::kVectors + 1), int(I % T::kVectors + 1)>...};
  }
  (std::make_index_sequence<T::kRows * T::kVectors>{});
  return table[(rows - 1) * T::kVectors + vectors - 1];
}

}  // namespace megalith::cpu::gemm
