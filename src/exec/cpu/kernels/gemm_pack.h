// Packing for Gemm: panels of W rows of an operand with k outermost, out[k][j]. A step of k is an element in the type
// of the sums, or a pair of bf16. Operands that are dense along k are transposed in registers, 16-bit ones as words of
// two elements. Operands that are dense along their rows are copied.
#pragma once
#include <utility>

#include "exec/cpu/kernels/elementwise.h"
#include "exec/cpu/kernels/gemm_tile.h"

namespace megalith::cpu::gemm {

// Concatenates a and b.
template <class V, size_t... I>
[[gnu::always_inline]] inline auto join(V a, V b, std::index_sequence<I...>) {
  return __builtin_shufflevector(a, b, int(I)...);
}

// Loads 16 bytes of each of `n` rows into one vector.
template <class Word, int n>
[[gnu::always_inline]] inline auto load_lanes(const std::byte* x, i64 stride) {
  if constexpr (n == 1) {
    typename VectorOf<Word, 16>::type v;
    std::memcpy(&v, x, 16);
    return v;
  } else {
    return join(load_lanes<Word, n / 2>(x, stride), load_lanes<Word, n / 2>(x + n / 2 * stride, stride),
                std::make_index_sequence<n * 16 / sizeof(Word)>());
  }
}

// Interleaves each 16 bytes of a and b: a0 b0 a1 b1 ... Returns the first and the second halves.
template <class V, size_t... I>
[[gnu::always_inline]] inline std::pair<V, V> zip_lanes(V a, V b, std::index_sequence<I...>) {
  constexpr int n = sizeof...(I), e = 16 * n / int(sizeof(V));
  auto at = [](int i, int half) { return i / e * e + half * e / 2 + i % e / 2 + (i % 2) * n; };
  return {__builtin_shufflevector(a, b, at(int(I), 0)...), __builtin_shufflevector(a, b, at(int(I), 1)...)};
}

// The step at x: the element, or it and the next one of `left` along k.
template <class P, class X>
P step(const X* x, i64 along, i64 left) {
  if constexpr (kPairs<P>)
    return x->bits | (left > 1 ? u32(x[along].bits) << 16 : 0);
  else
    return P(*x);
}

// Packs rows `j..j+N-1` of a panel of W rows that is dense along k, kSteps of k at a time.
template <class S, class X, i64 W>
struct Transposer {
  static constexpr bool kHalf = std::is_same_v<X, f16>;
  static constexpr bool kSplits = sizeof(X) == 2 && std::is_same_v<S, float>;  // two steps in a word
  static constexpr bool kWorks = kSplits || kPairs<S> || std::is_same_v<X, S>;
  static constexpr int N = int(std::min<i64>(kLanes<S>, W)), E = 16 / int(sizeof(S));  // words in 16 bytes
  static constexpr int kSteps = kSplits ? 2 * E : E;
  using Row = typename VectorOf<S, N* int(sizeof(S))>::type;
  using Words = typename VectorOf<u32, N* int(sizeof(S))>::type;

  // Transposes a square of E by E words in each 16 bytes. The l-th 16 bytes of rows[i] are words of row i + E * l.
  [[gnu::always_inline]] static void turn(Row (&rows)[E]) {
#pragma GCC unroll 2
    for (int round = 1; round < E; round *= 2) {
      Row out[E];
#pragma GCC unroll 2
      for (int i = 0; i < E / 2; ++i) {
        const auto [low, high] = zip_lanes(rows[i], rows[i + E / 2], std::make_index_sequence<N>());
        out[2 * i] = low, out[2 * i + 1] = high;
      }
#pragma GCC unroll 4
      for (int i = 0; i < E; ++i) rows[i] = out[i];
    }
  }

  [[gnu::always_inline]] static void run(const X* x, i64 across, S* out) {
    const i64 stride = across * i64(sizeof(X));
    Row rows[E];
#pragma GCC unroll 4
    for (int i = 0; i < E; ++i)
      rows[i] = load_lanes<S, N / E>(reinterpret_cast<const std::byte*>(x) + i * stride, E * stride);
    turn(rows);
#pragma GCC unroll 4
    for (int i = 0; i < E; ++i) {
      if constexpr (kSplits) {
        Words even = Words(rows[i]) << 16, odd = Words(rows[i]) & 0xFFFF0000u;
        if constexpr (kHalf) even = widen_half(even >> 16), odd = widen_half(odd >> 16);
        std::memcpy(out + 2 * i * W, &even, sizeof even);
        std::memcpy(out + (2 * i + 1) * W, &odd, sizeof odd);
      } else {
        std::memcpy(out + i * W, &rows[i], sizeof rows[i]);
      }
    }
  }
};

// Packs one panel of W rows: out[k][j] = x[j * across + k * along] for j < n <= W, and 0 for other j. `k`: elements.
template <class P, class X, i64 W>
void pack(const X* x, i64 across, i64 along, i64 n, i64 k, P* out) {
  using T = Transposer<P, X, W>;
  constexpr i64 e = kElements<P>;
  const i64 steps = (k + e - 1) / e;
  i64 fast = 0;  // rows j < fast are done for the first `turned` steps
  const i64 turned = T::kWorks && along == 1 && across != 1 ? k / e / T::kSteps * T::kSteps : 0;
  if constexpr (T::kWorks)
    if (turned > 0)
      for (; fast + T::N <= n; fast += T::N)
        for (i64 p = 0; p < turned; p += T::kSteps) T::run(x + fast * across + p * e, across, out + p * W + fast);
  if (fast == W && turned == steps) return;
  for (i64 p = 0; p < steps; ++p) {
    for (i64 j = p < turned ? fast : 0; j < n; ++j)
      out[p * W + j] = step<P>(x + j * across + p * e * along, along, k - p * e);
    for (i64 j = n; j < W; ++j) out[p * W + j] = 0;
  }
}

// Packs whole panels of an operand that is dense along its rows. It takes a few steps of k of each panel at a time. So
// it reads and writes memory in sequence.
template <class P, class X, i64 W>
void copy(const X* x, i64 along, i64 panels, i64 k, P* out) {
  constexpr i64 kSteps = 8, e = kElements<P>;
  const i64 steps = (k + e - 1) / e;
  for (i64 p0 = 0; p0 < steps; p0 += kSteps)
    for (i64 q = 0; q < panels; ++q)
      for (i64 p = p0; p < std::min(steps, p0 + kSteps); ++p) {
        const X* from = x + p * e * along + q * W;
        P* to = out + (q * steps + p) * W;
        if constexpr (std::is_same_v<X, f16> && sizeof(P) == 4)
          map(W, kSame, to, from);
        else if (k - p * e >= e)
          for (i64 j = 0; j < W; ++j) to[j] = step<P>(from + j, along, e);
        else
          for (i64 j = 0; j < W; ++j) to[j] = step<P>(from + j, along, 1);
      }
}

// Packs a block of `rows` rows in panels of W rows.
template <class P, class X, i64 W>
void pack_panels(const X* x, i64 across, i64 along, i64 rows, i64 k, P* out) {
  i64 done = 0;
  if (across == 1) {
    done = rows / W * W;
    copy<P, X, W>(x, along, rows / W, k, out);
  }
  for (; done < rows; done += W)
    pack<P, X, W>(x + done * across, across, along, std::min(W, rows - done), k,
                  out + done * ((k + kElements<P> - 1) / kElements<P>));
}

}  // namespace megalith::cpu::gemm
