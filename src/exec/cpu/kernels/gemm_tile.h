// The innermost part of Gemm: one tile of C, kept in registers over the whole of k, and the packing of its operands.
//
// A is packed in panels of kRows rows, B in panels of kCols columns, both with k outermost: at step k the tile reads
// kRows numbers of A and kCols of B in sequence, whatever the operands' strides and element type were. Written with the
// compiler's vector types, one vector as wide as the build's target has (64 bytes with AVX-512).
#pragma once
#include <array>
#include <cstring>
#include <utility>

#include "exec/cpu/kernels/elementwise.h"

namespace megalith::cpu::gemm {

constexpr bool kWide = kVectorBytes >= 64;  // 32 vector registers, else 16

template <class S>
struct Tile {
  static constexpr i64 kLanes = cpu::kLanes<S>;
  static constexpr i64 kRows = kWide ? 8 : 4;
  static constexpr i64 kVectors = 3;  // 8 * 3 sums, 3 of B and one of A fit the registers
  static constexpr i64 kCols = kVectors * kLanes;
};

// sums[r][v] over k of a[k][r] * b[k][v].
template <class S, int R, int V>
[[gnu::always_inline]] inline void multiply(const S* a, const S* b, i64 k, Vec<S> (&sums)[R][V]) {
  using T = Tile<S>;
#pragma GCC unroll 8
  for (int r = 0; r < R; ++r)
#pragma GCC unroll 3
    for (int v = 0; v < V; ++v) sums[r][v] = Vec<S>{};
  for (i64 p = 0; p < k; ++p, a += T::kRows, b += T::kCols) {
    Vec<S> bv[V];
#pragma GCC unroll 3
    for (int v = 0; v < V; ++v) bv[v] = *reinterpret_cast<const Vec<S>*>(b + v * T::kLanes);
#pragma GCC unroll 8
    for (int r = 0; r < R; ++r) {
      const Vec<S> ar = fill(a[r]);
#pragma GCC unroll 3
      for (int v = 0; v < V; ++v) sums[r][v] += ar * bv[v];
    }
  }
}

// Where a tile goes: c[r * row + j] for r < R, j < cols; added to what is there or not.
template <class C>
struct Target {
  C* c;
  i64 row;
  i64 cols;
  bool add;
};

template <class S, class C, int R, int V>
void tile(const S* a, const S* b, i64 k, const Target<C>& to) {
  using T = Tile<S>;
  for (int r = 0; r < R; ++r)
    for (int v = 0; v < V; ++v) __builtin_prefetch(to.c + r * to.row + v * T::kLanes, 1);
  Vec<S> sums[R][V];
  multiply<S, R, V>(a, b, k, sums);
  if constexpr (std::is_same_v<S, C>) {
    if (to.cols == V * T::kLanes) {
#pragma GCC unroll 8
      for (int r = 0; r < R; ++r)
#pragma GCC unroll 3
        for (int v = 0; v < V; ++v) {
          S* c = to.c + r * to.row + v * T::kLanes;
          store(c, to.add ? load(c) + sums[r][v] : sums[r][v]);
        }
      return;
    }
  }
  alignas(kVectorBytes) S buffer[R][V * T::kLanes];
  for (int r = 0; r < R; ++r)
    for (int v = 0; v < V; ++v) store(&buffer[r][v * T::kLanes], sums[r][v]);
  for (int r = 0; r < R; ++r) {
    C* c = to.c + r * to.row;
    const i64 n = std::min(to.cols, V * T::kLanes);
    if (to.add)
      map(n, kPlus, c, c, buffer[r]);
    else
      map(n, kSame, c, buffer[r]);
  }
}

// tile<.., R, V> by numbers known only at run time.
template <class S, class C>
void tile_of(i64 rows, const S* a, const S* b, i64 k, const Target<C>& to) {
  using T = Tile<S>;
  using F = void (*)(const S*, const S*, i64, const Target<C>&);
  static constexpr auto table = []<size_t... I>(std::index_sequence<I...>) {
    return std::array<F, sizeof...(I)>{&tile<S, C, int(I / T::kVectors + 1), int(I % T::kVectors + 1)>...};
  }
  (std::make_index_sequence<T::kRows * T::kVectors>{});
  const i64 vectors = (to.cols + T::kLanes - 1) / T::kLanes;
  table[(rows - 1) * T::kVectors + vectors - 1](a, b, k, to);
}

// The halves of a0 b0 a1 b1 ...
template <class S>
[[gnu::always_inline]] inline std::pair<Vec<S>, Vec<S>> zip(Vec<S> a, Vec<S> b) {
  constexpr int L = kLanes<S>;
  Vec<int_t<S>> low{}, high{};
  for (int i = 0; i < L; ++i) low[i] = (i & 1 ? L : 0) + i / 2, high[i] = (i & 1 ? L : 0) + L / 2 + i / 2;
  return {__builtin_shuffle(a, b, low), __builtin_shuffle(a, b, high)};
}

// N rows (a power of two) of vectors become the sequence [lane][row]: log2 N rounds of pairing row i with row i + N/2.
template <class S, int N>
[[gnu::always_inline]] inline void interleave(Vec<S> (&rows)[N]) {
#pragma GCC unroll 4
  for (int round = 1; round < N; round *= 2) {
    Vec<S> out[N];
#pragma GCC unroll 8
    for (int i = 0; i < N / 2; ++i) {
      const auto [low, high] = zip<S>(rows[i], rows[i + N / 2]);
      out[2 * i] = low, out[2 * i + 1] = high;
    }
#pragma GCC unroll 16
    for (int i = 0; i < N; ++i) rows[i] = out[i];
  }
}

// One panel of W: out[k][j] = x[j * across + k * along] for j < n <= W, zeros beyond.
template <class S, class X, i64 W>
void pack(const X* x, i64 across, i64 along, i64 n, i64 k, S* out) {
  constexpr i64 L = Tile<S>::kLanes, N = std::min(L, W);
  i64 done = 0;  // of k
  if constexpr (std::is_same_v<accum_t<X>, S>)
    if (n == W && along == 1 && across != 1) {
      for (; done + L <= k; done += L)
        for (i64 j = 0; j < W; j += N) {
          Vec<S> rows[N];
#pragma GCC unroll 16
          for (i64 i = 0; i < N; ++i) rows[i] = load(x + (j + i) * across + done);
          interleave<S, N>(rows);
#pragma GCC unroll 16
          for (i64 i = 0; i < N; ++i) {  // rows[i] holds L / N steps of k
            store(W == N ? out + done * W + i * L : out + (done + i) * W + j, rows[i]);
          }
        }
    }
  if (n == W && across == 1) {
    for (; done < k; ++done)
      for (i64 j = 0; j < W; ++j) out[done * W + j] = S(x[done * along + j]);
  }
  for (; done < k; ++done) {
    for (i64 j = 0; j < n; ++j) out[done * W + j] = S(x[j * across + done * along]);
    for (i64 j = n; j < W; ++j) out[done * W + j] = 0;
  }
}

}  // namespace megalith::cpu::gemm
