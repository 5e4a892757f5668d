// What makes the values of a tile: x as it is, SwiGLU of x, its gradient, or RMSNorm of x. They have the bits of the
// separate kernels.
#pragma once
#include "exec/cuda/kernels/gates.cuh"
#include "exec/cuda/kernels/norm/norm.cuh"
#include "exec/cuda/kernels/quantize/coded_result.h"
#include "exec/cuda/kernels/quantize/tile.cuh"

namespace megalith::cuda {

using CodedValue = __nv_bfloat16;
// A thread's values in the rows of a part of each matrix.
template <int kMatrices>
using CodedRows = TilePack<CodedValue>[kMatrices][TilePlace::kRows];

// The rows of a tile are tokens `first + row * step`.
struct TileTokens {
  i64 first, step;
};

// x [tokens, columns].
struct AsTheyAre {
  static constexpr int kMatrices = 1;
  SourcePointers p;
  i64 columns;

  __device__ void make(const TilePlace& t, const TileTokens& of, int k, CodedRows<1>& v) const {
    const auto* x = static_cast<const CodedValue*>(p.x) + of.first * columns;
#pragma unroll
    for (int i = 0; i < t.kRows; ++i) v[0][i] = load_tile_pack(x, t, of.step * columns, k, i);
  }
};

// act(gate) up of x [tokens, 2, columns].
template <class Act>
struct Gated {
  static constexpr int kMatrices = 1;
  SourcePointers p;
  i64 columns;

  __device__ void make(const TilePlace& t, const TileTokens& of, int k, CodedRows<1>& v) const {
    const auto* x = static_cast<const CodedValue*>(p.x) + of.first * 2 * columns;
    const i64 pitch = of.step * 2 * columns;
    TilePack<CodedValue> gate[t.kRows], up[t.kRows];
#pragma unroll
    for (int i = 0; i < t.kRows; ++i)
      gate[i] = load_tile_pack(x, t, pitch, k, i), up[i] = load_tile_pack(x + columns, t, pitch, k, i);
#pragma unroll
    for (int i = 0; i < t.kRows; ++i)
      v[0][i] = pack<CodedValue>(gated<Act, CodedValue, t.kColumns>(unpack<float>(gate[i]), unpack<float>(up[i])));
  }
};

// The gradients of gate and up, by dy [tokens, columns].
template <class Act>
struct GatedGradient {
  static constexpr int kMatrices = 2;
  SourcePointers p;
  i64 columns;

  __device__ void make(const TilePlace& t, const TileTokens& of, int k, CodedRows<2>& v) const {
    const auto* x = static_cast<const CodedValue*>(p.x) + of.first * 2 * columns;
    const auto* dy = static_cast<const CodedValue*>(p.dy) + of.first * columns;
    const i64 pitch = of.step * columns;
    TilePack<CodedValue> d[t.kRows], gate[t.kRows], up[t.kRows];
#pragma unroll
    for (int i = 0; i < t.kRows; ++i) {
      d[i] = load_tile_pack(dy, t, pitch, k, i);
      gate[i] = load_tile_pack(x, t, 2 * pitch, k, i), up[i] = load_tile_pack(x + columns, t, 2 * pitch, k, i);
    }
#pragma unroll
    for (int i = 0; i < t.kRows; ++i) {
      const auto s =
          gated_slopes<Act, CodedValue, t.kColumns>(unpack<float>(d[i]), unpack<float>(gate[i]), unpack<float>(up[i]));
      v[0][i] = pack<CodedValue>(s.dgate), v[1][i] = pack<CodedValue>(s.dup);
    }
  }
};

// RMSNorm of x [tokens, columns], whose rstd is known.
struct Normed {
  static constexpr int kMatrices = 1;
  SourcePointers p;
  i64 columns;

  __device__ void make(const TilePlace& t, const TileTokens& of, int k, CodedRows<1>& v) const {
    const auto* x = static_cast<const CodedValue*>(p.x) + of.first * columns;
    const float* rstd = p.rstd + of.first + (t.row + t.row_in_tile(k, 0)) * of.step;
    const i64 column = t.column + t.column_in_tile();
    TilePack<CodedValue> of_weights = {};
    if (t.column_in_tile() < t.columns_left)
      of_weights = load_pack<TilePlace::kColumns>(static_cast<const CodedValue*>(p.w) + column);
    const Numbers<float, TilePlace::kColumns> w = unpack<float>(of_weights);
#pragma unroll
    for (int i = 0; i < t.kRows; ++i) v[0][i] = load_tile_pack(x, t, of.step * columns, k, i);
#pragma unroll
    for (int i = 0; i < t.kRows; ++i) {
      const float r = t.has(k, i) ? rstd[i * of.step] : 0;
      Numbers<float, TilePlace::kColumns> y = unpack<float>(v[0][i]);
#pragma unroll
      for (int e = 0; e < t.kColumns; ++e) y.x[e] = normed(y.x[e], r, w.x[e], 0);
      v[0][i] = pack<CodedValue>(y);
    }
  }
};

// f(source) with the source's type.
template <class F>
void with_source(const CodedLaunch& l, const SourcePointers& p, F&& f) {
  const i64 columns = l.tiles.columns;
  if (l.tiles.by == ValuesBy::none) return f(AsTheyAre{p, columns});
  if (l.tiles.by == ValuesBy::normed) return f(Normed{p, columns});
  with_gate(l.act, [&]<class Act>() {
    if (l.tiles.by == ValuesBy::gated)
      f(Gated<Act>{p, columns});
    else
      f(GatedGradient<Act>{p, columns});
  });
}

}  // namespace megalith::cuda
