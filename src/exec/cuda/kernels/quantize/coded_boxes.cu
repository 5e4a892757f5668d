// Computes or reads values once, and casts them with scales of boxes along features and along tokens.
#include "exec/cuda/kernels/quantize/box_tile.cuh"
#include "exec/cuda/kernels/quantize/coded_sources.cuh"

namespace megalith::cuda {
namespace {

constexpr int kThreads = TilePlace::kThreads;

template <class Source>
struct CodedBoxArgs {
  Source source;
  CastPointers features, tokens;
  i64 sequences, rows, columns;
};

template <CodeKind kFormat>
__device__ inline BoxScale power_of_two(u32 bits) {
  return power_of_two_scale(kFormat, bits);
}

// Where the codes and scales of matrix m of sequence q go.
struct MatrixPlace {
  TileOut out;
  ScalePlace scales;
};
template <class Source>
__device__ inline MatrixPlace place_of_features(const CodedBoxArgs<Source>& a, i64 q, int m) {
  const CastPointers& p = a.features;
  const i64 width = Source::kMatrices * a.columns, across = (a.columns + TilePlace::kTile - 1) / TilePlace::kTile,
            boxes = Source::kMatrices * across;
  return {{p.codes + q * width + m * a.columns, nullptr, a.sequences * width, 0},
          {p.scale_inv + q * boxes + m * across, a.sequences * boxes}};
}
template <class Source>
__device__ inline MatrixPlace place_of_tokens(const CodedBoxArgs<Source>& a, i64 q, int m) {
  const CastPointers& p = a.tokens;
  const i64 width = Source::kMatrices * a.columns, all = a.sequences * a.rows;
  return {{nullptr, p.codes_t + m * a.columns * all + q * a.rows, 0, all},
          {p.scale_inv + q * width + m * a.columns, a.sequences * width}};
}

// Both casts of a matrix of the tile: each value is unpacked once. of_columns: scales of the tile's columns.
template <CodeKind kFormat, bool kCounts, class Source>
__device__ inline void encode_both(const CodedBoxArgs<Source>& a, const TilePlace& t, i64 q, int m,
                                   const TileValues<CodedValue>& v, const float* of_columns, u32* turned,
                                   CastLosses& of_features, CastLosses& of_tokens) {
  const bool features = a.features.codes, tokens = a.tokens.codes_t;
  const MatrixPlace to = place_of_features(a, q, m);
  float rows[kRowsOfThread];
  if (features) row_scales_by_lanes(t, v, t.kTile, to.scales, power_of_two<kFormat>, rows);
  __align__(16) float columns[TilePlace::kColumns];
#pragma unroll
  for (int e = 0; e < t.kColumns && tokens; e += 4)
    *reinterpret_cast<float4*>(columns + e) = *reinterpret_cast<const float4*>(of_columns + t.column_in_tile() + e);
#pragma unroll
  for (int k = 0; k < t.kParts; ++k) {
    TileCodes by_features, by_tokens;
#pragma unroll
    for (int i = 0; i < t.kRows; ++i) {
      const TileNumbers n = unpack<float>(v.at[k][i]);
      const float row = rows[k * t.kRows + i];
      if (features)
        encode_row<kFormat, kCounts>(
            n, [&](int) { return row; }, by_features[i], of_features);
      if (tokens)
        encode_row<kFormat, kCounts>(
            n, [&](int e) { return columns[e]; }, by_tokens[i], of_tokens);
    }
    if (features) store_codes(by_features, k, t, to.out);
    if (tokens) turn_codes(by_tokens, k, t, turned);
  }
}

template <class Source, CodeKind kFormat, bool kCounts>
__global__ void __launch_bounds__(kThreads, Source::kMatrices == 1 ? 4 : 2)
    coded_boxes_kernel(const __grid_constant__ CodedBoxArgs<Source> a) {
  constexpr int kMatrices = Source::kMatrices;
  // First the tokens' amax of each warp, then the turned codes.
  __shared__ __align__(16) u32 shared[kMatrices][TilePlace::kTile * 32];
  __shared__ __align__(16) float scales[kMatrices][TilePlace::kTile];
  const u32 each = u32((a.rows + TilePlace::kTile - 1) / TilePlace::kTile) *
                   u32((a.columns + TilePlace::kTile - 1) / TilePlace::kTile);
  const i64 q = blockIdx.x / each;
  const TilePlace t(blockIdx.x % each, a.rows, a.columns);
  TileValues<CodedValue> v[kMatrices];
#pragma unroll
  for (int k = 0; k < t.kParts; ++k) {
    CodedRows<kMatrices> rows;
    a.source.make(t, {q, a.sequences}, k, rows);
#pragma unroll
    for (int m = 0; m < kMatrices; ++m)
#pragma unroll
      for (int i = 0; i < t.kRows; ++i) v[m].at[k][i] = rows[m][i];
  }
  const bool tokens = a.tokens.codes_t;
  if (tokens) {
#pragma unroll
    for (int m = 0; m < kMatrices; ++m) amax_of_parts<BoxShape::column, true>(t, v[m], t.kTile, shared[m]);
    __syncthreads();
#pragma unroll
    for (int m = 0; m < kMatrices; ++m)
      tall_scales<true>(t, t.kTile, 1, shared[m], place_of_tokens(a, q, m).scales, power_of_two<kFormat>, scales[m]);
    __syncthreads();
  }
  CastLosses of_features, of_tokens;
#pragma unroll
  for (int m = 0; m < kMatrices; ++m)
    encode_both<kFormat, kCounts>(a, t, q, m, v[m], scales[m], shared[m], of_features, of_tokens);
  __shared__ BlockLosses<kThreads> blocks[2];
  if constexpr (kCounts) put_losses(blocks[0], of_features), put_losses(blocks[1], of_tokens);
  __syncthreads();
  if constexpr (kCounts) {
    if (a.features.codes) add_block_losses(a.features, blocks[0]);
    if (tokens) add_block_losses(a.tokens, blocks[1]);
  }
  if (!tokens) return;
#pragma unroll
  for (int m = 0; m < kMatrices; ++m) store_turned(t, place_of_tokens(a, q, m).out, shared[m]);
}

}  // namespace

void launch_coded_boxes(const CodedLaunch& l, const SourcePointers& source, const CastPointers& features,
                        const CastPointers& tokens, cudaStream_t stream) {
  const CodedTiles& c = l.tiles;
  const unsigned blocks = unsigned(c.sequences * tiles_of(c.rows, c.columns));
  start_counts(features, stream), start_counts(tokens, stream);
  with_source(l, source, [&]<class Source>(const Source& by) {
    const CodedBoxArgs<Source> a{by, features, tokens, c.sequences, c.rows, c.columns};
    with_fp8(l.rule.format, [&]<CodeKind kFormat>() {
      with_counts(features.counts ? features : tokens, [&]<bool kCounts>() {
        coded_boxes_kernel<Source, kFormat, kCounts><<<blocks, kThreads, 0, stream>>>(a);
      });
    });
  });
  check_launch("[coded_result] launch");
}

}  // namespace megalith::cuda
