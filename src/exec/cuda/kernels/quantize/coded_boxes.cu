// Computes or reads values once, and casts them with scales of boxes along features and along tokens.
#include "exec/cuda/kernels/quantize/box_tile.cuh"
#include "exec/cuda/kernels/quantize/coded_sources.cuh"

namespace megalith::cuda {
namespace {

constexpr int kThreads = TilePlace::kThreads;

template <class Source>
struct CodedBoxArgs {
  Source source;
  BoxTileArgs features, tokens;  // of one matrix
  i64 sequences, rows, columns;
};

// The features' codes of matrix m of a tile of sequence q.
template <CodeKind kFormat, bool kCounts, class Source>
__device__ inline void encode_features(const CodedBoxArgs<Source>& a, const TilePlace& t, i64 q, int m,
                                       const TileValues<CodedValue>& v, u32* turned, CastLosses& losses) {
  const CastPointers& p = a.features.p;
  const i64 width = Source::kMatrices * a.columns, boxes = Source::kMatrices * a.features.across;
  const TileOut out{p.codes + q * width + m * a.columns, nullptr, a.sequences * width, 0};
  float scales[kRowsOfThread];
  row_scales(a.features, t, v, {p.scale_inv + q * boxes + m * a.features.across, a.sequences * boxes}, scales);
  encode_tile<kFormat, kCounts>(
      v, t, out, turned, [&](int k, int i, int) { return scales[k * TilePlace::kRows + i]; }, losses);
}

// The same of the tokens' codes, which are transposed. The block must wait before it uses `turned` again.
template <CodeKind kFormat, bool kCounts, class Source>
__device__ inline void encode_tokens(const CodedBoxArgs<Source>& a, const TilePlace& t, i64 q, int m,
                                     const TileValues<CodedValue>& v, u32* turned, float* scales, CastLosses& losses) {
  const CastPointers& p = a.tokens.p;
  const i64 width = Source::kMatrices * a.columns, all = a.sequences * a.rows;
  const TileOut out{nullptr, p.codes_t + m * a.columns * all + q * a.rows, 0, all};
  const ScalePlace to{p.scale_inv + q * width + m * a.columns, a.sequences * width};
  encode_tall<kFormat, BoxShape::column, true, kCounts>(a.tokens, t, v, out, to, turned, scales, losses);
  __syncthreads();
  store_turned(t, out, turned);
}

template <class Source, CodeKind kFormat, bool kCounts>
__global__ void __launch_bounds__(kThreads, Source::kMatrices == 1 ? 4 : 2)
    coded_boxes_kernel(const __grid_constant__ CodedBoxArgs<Source> a) {
  constexpr int kMatrices = Source::kMatrices;
  __shared__ __align__(16) u32 turned[TilePlace::kTile * 32];
  __shared__ __align__(16) float scales[TilePlace::kTile];
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
  CastLosses of_features, of_tokens;
#pragma unroll
  for (int m = 0; m < kMatrices; ++m) {
    if (a.features.p.codes) encode_features<kFormat, kCounts>(a, t, q, m, v[m], turned, of_features);
    if (!a.tokens.p.codes_t) continue;
    if (m > 0) __syncthreads();  // `turned` is free again
    encode_tokens<kFormat, kCounts>(a, t, q, m, v[m], turned, scales, of_tokens);
  }
  if constexpr (kCounts) {
    __shared__ BlockLosses<kThreads> blocks[2];
    put_losses(blocks[0], of_features), put_losses(blocks[1], of_tokens);
    __syncthreads();
    if (a.features.p.codes) add_block_losses(a.features.p, blocks[0]);
    if (a.tokens.p.codes_t) add_block_losses(a.tokens.p, blocks[1]);
  }
}

}  // namespace

void launch_coded_boxes(const CodedLaunch& l, const SourcePointers& source, const CastPointers& features,
                        const CastPointers& tokens, cudaStream_t stream) {
  constexpr i64 kBox = TilePlace::kTile;
  const CodedTiles& c = l.tiles;
  const CodeTiles along_features{.rows = c.rows, .columns = c.columns, .box_columns = kBox},
      along_tokens{.rows = c.rows, .columns = c.columns, .box_rows = kBox};
  const unsigned blocks = unsigned(c.sequences * tiles_of(c.rows, c.columns));
  start_counts(features, stream), start_counts(tokens, stream);
  with_source(l, source, [&]<class Source>(const Source& by) {
    const CodedBoxArgs<Source> a{by,
                                 {l.rule, along_features, features, c.rows, (c.columns + kBox - 1) / kBox},
                                 {l.rule, along_tokens, tokens, (c.rows + kBox - 1) / kBox, c.columns},
                                 c.sequences,
                                 c.rows,
                                 c.columns};
    with_fp8(l.rule.format, [&]<CodeKind kFormat>() {
      with_counts(features.counts ? features : tokens, [&]<bool kCounts>() {
        coded_boxes_kernel<Source, kFormat, kCounts><<<blocks, kThreads, 0, stream>>>(a);
      });
    });
  });
  check_launch("[coded_result] launch");
}

}  // namespace megalith::cuda
