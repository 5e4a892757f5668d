// The innermost part of Gemm: one tile of C, kept in registers over the whole of k, and the packing of its operands.
//
// A is packed in panels of kRows rows, B in panels of kCols columns, both with k outermost: at step k the tile reads
// kRows numbers of A and kCols of B in sequence, whatever the operands' strides and element type were. Written with the
// compiler's vector types, one vector as wide as the build's target has (64 bytes with AVX-512).
#pragma once
#include <array>
#include <cstring>
#include <utility>

#include "base/dtype.h"

namespace megalith::cpu::gemm {

constexpr i64 kVectorBytes = __BIGGEST_ALIGNMENT__;
constexpr bool kWide = kVectorBytes >= 64;  // 32 vector registers, else 16

template <class E, i64 N>
struct VectorOf {
  typedef E type __attribute__((vector_size(N * i64(sizeof(E)))));
};

template <class S>
struct Tile {
  using Vector = typename VectorOf<S, kVectorBytes / i64(sizeof(S))>::type;
  static constexpr i64 kLanes = kVectorBytes / sizeof(S);
  static constexpr i64 kRows = kWide ? 8 : 4;
  static constexpr i64 kVectors = 3;  // 8 * 3 sums, 3 of B and one of A fit the registers
  static constexpr i64 kCols = kVectors * kLanes;
};

// A vector from any address, converted; and to any address.
template <class S, class X>
[[gnu::always_inline]] inline typename Tile<S>::Vector load(const X* p) {
  constexpr i64 n = Tile<S>::kLanes;
  if constexpr (std::is_same_v<X, bf16>) {
    using Float = typename VectorOf<float, n>::type;
    using Word = typename VectorOf<u32, n>::type;
    typename VectorOf<u16, n>::type half;
    std::memcpy(&half, p, sizeof half);
    return __builtin_convertvector((Float)(__builtin_convertvector(half, Word) << 16), typename Tile<S>::Vector);
  } else {
    typename VectorOf<X, n>::type v;
    std::memcpy(&v, p, sizeof v);
    return __builtin_convertvector(v, typename Tile<S>::Vector);
  }
}
template <class S>
[[gnu::always_inline]] inline void store(S* p, typename Tile<S>::Vector v) {
  std::memcpy(p, &v, sizeof v);
}

// sums[r][v] over k of a[k][r] * b[k][v].
template <class S, int R, int V>
[[gnu::always_inline]] inline void multiply(const S* a, const S* b, i64 k, typename Tile<S>::Vector (&sums)[R][V]) {
  using T = Tile<S>;
  using Vector = typename T::Vector;
#pragma GCC unroll 8
  for (int r = 0; r < R; ++r)
#pragma GCC unroll 3
    for (int v = 0; v < V; ++v) sums[r][v] = Vector{};
  for (i64 p = 0; p < k; ++p, a += T::kRows, b += T::kCols) {
    Vector bv[V];
#pragma GCC unroll 3
    for (int v = 0; v < V; ++v) bv[v] = *reinterpret_cast<const Vector*>(b + v * T::kLanes);
#pragma GCC unroll 8
    for (int r = 0; r < R; ++r) {
      const Vector ar = a[r] - Vector{};
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
  typename T::Vector sums[R][V];
  multiply<S, R, V>(a, b, k, sums);
  if constexpr (std::is_same_v<S, C>) {
    if (to.cols == V * T::kLanes) {
#pragma GCC unroll 8
      for (int r = 0; r < R; ++r)
#pragma GCC unroll 3
        for (int v = 0; v < V; ++v) {
          S* c = to.c + r * to.row + v * T::kLanes;
          store<S>(c, to.add ? load<S>(c) + sums[r][v] : sums[r][v]);
        }
      return;
    }
  }
  alignas(kVectorBytes) S buffer[R][V * T::kLanes];
  std::memcpy(buffer, sums, sizeof buffer);
  for (int r = 0; r < R; ++r) {
    C* c = to.c + r * to.row;
#pragma omp simd
    for (i64 j = 0; j < to.cols; ++j) c[j] = C(to.add ? S(c[j]) + buffer[r][j] : buffer[r][j]);
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
template <class V, class Mask, int L>
[[gnu::always_inline]] inline std::pair<V, V> zip(V a, V b) {
  Mask low{}, high{};
  for (int i = 0; i < L; ++i) low[i] = (i & 1 ? L : 0) + i / 2, high[i] = (i & 1 ? L : 0) + L / 2 + i / 2;
  return {__builtin_shuffle(a, b, low), __builtin_shuffle(a, b, high)};
}

// N rows (a power of two) of vectors become the sequence [lane][row]: log2 N rounds of pairing row i with row i + N/2.
template <class S, int N>
[[gnu::always_inline]] inline void interleave(typename Tile<S>::Vector (&rows)[N]) {
  using Vector = typename Tile<S>::Vector;
  using Index = std::conditional_t<sizeof(S) == 4, i32, i64>;
  using Mask = typename VectorOf<Index, Tile<S>::kLanes>::type;
#pragma GCC unroll 4
  for (int round = 1; round < N; round *= 2) {
    Vector out[N];
#pragma GCC unroll 8
    for (int i = 0; i < N / 2; ++i) {
      const auto [low, high] = zip<Vector, Mask, int(Tile<S>::kLanes)>(rows[i], rows[i + N / 2]);
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
  if (n == W && along == 1 && across != 1) {
    for (; done + L <= k; done += L)
      for (i64 j = 0; j < W; j += N) {
        typename Tile<S>::Vector rows[N];
#pragma GCC unroll 16
        for (i64 i = 0; i < N; ++i) rows[i] = load<S>(x + (j + i) * across + done);
        interleave<S, N>(rows);
#pragma GCC unroll 16
        for (i64 i = 0; i < N; ++i) {  // rows[i] holds L / N steps of k
          store<S>(W == N ? out + done * W + i * L : out + (done + i) * W + j, rows[i]);
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
