// Shared parts of the kernels of attention_hopper.h: scratch memory, the order of the work, stores of sums.
#pragma once
#include "exec/cuda/kernels/attention/attention_hopper.h"
#include "exec/cuda/kernels/attention/attention_view.cuh"
#include "exec/cuda/kernels/attention/hopper_factors.cuh"

namespace megalith::cuda::hopper {

constexpr int kQueries = kHopperQueries, kKeys = 128;  // of a tile

// Tiles of queries are numbered over all runs of positions, in order. So the tiles that see a key are the last ones.
// Plain: the queries are all positions from 0 on, so no look-up is needed.
inline bool is_plain(const AttentionSizes& z) { return z.positions.runs == 1 && z.positions.start[0] == 0; }
template <bool kPlain = false>
__device__ inline AttentionTile query_tile(const AttentionSizes& z, int tile) {
  if constexpr (kPlain)
    return {tile * kQueries, min(kQueries, z.s - tile * kQueries), tile * kQueries};
  else
    return tile_at(z.positions, tile, kQueries);
}
// The first of `tiles` that sees the first key of a tile of keys. If there is none, `tiles`.
template <bool kPlain>
__device__ inline int first_query_tile(const AttentionSizes& z, int key_tile, int tiles) {
  if constexpr (kPlain)
    return min(key_tile * (kKeys / kQueries), tiles);
  else
    return first_tile_to_see(z.positions, key_tile * kKeys, kQueries);
}
// The tile of keys in which the last of the queries ends, as if there were keys at all positions.
template <bool kPlain>
__device__ inline int last_key_tile(const AttentionTile& queries) {
  if constexpr (kPlain)
    return queries.position / kKeys;  // a tile of plain queries is inside one tile of keys
  else
    return (queries.position + queries.count - 1) / kKeys;
}

// For each query, as [b, g, r, tiles, 2, 64]: the initial values of its sums q k^T and do v^T. They are -lse / scale
// and -D. After the tile's last query the first is -infinity, so the probability is 0. dq: the sums of each head's
// tiles of queries, in boxes of 64 columns. They are in the order of a warpgroup's 128 threads: 4 floats of every
// thread, then the next 4. turns: the number of blocks that have added to each tile. ticket: the next item of work.
struct Scratch {
  float *begin, *dq;
  int *turns, *ticket;
  int tiles;  // of a head's queries

  __host__ __device__ int padded() const { return tiles * kQueries; }
};
constexpr int kBoxFloats = kQueries * 64, kPieceBoxes = 16;

// The items: tiles of keys of all samples' groups, and pieces of their dq, which are converted from the sums. Blocks
// take tickets in order. So a block waits only for items with smaller tickets, which have started.
// The work has sets of `groups` groups, enough for all multiprocessors. Each group has runs of `run` tiles. The first
// run, which has the most queries, comes first; in a run, the last tile comes first. After a set's first runs come
// the dq pieces of the previous set. Its last tiles are usually done by then, and its sums are still in the
// second-level cache.
struct Work {
  int tiles, each;  // tiles of one group, and number of groups
  int groups, run;
  int pieces;                       // of one group
  int set_tiles, set_pieces, sets;  // of all sets but the last, and number of sets

  struct Item {
    int group, tile;  // tile -1: no work is left; below -1: a piece of dq

    __device__ bool makes_dq() const { return tile < -1; }
    __device__ int piece() const { return -2 - tile; }
  };
  __device__ Item item(int ticket) const {
    const int end = each * tiles + (sets - 1) * set_pieces;
    if (ticket >= end) return piece_of(sets - 1, ticket - end);
    const bool first_set = ticket < set_tiles;
    const int behind = ticket - set_tiles, set = first_set ? 0 : 1 + behind / (set_tiles + set_pieces);
    int i = first_set ? ticket : behind % (set_tiles + set_pieces);
    const int present = min(groups, each - set * groups), begin = present * run;
    if (!first_set && i >= begin) {
      i -= set_pieces;
      if (i < begin) return piece_of(set - 1, i - begin + set_pieces);
    }
    const int first = i / begin * run, size = min(run, tiles - first);
    i -= first * present;
    return {set * groups + i / size, first + size - 1 - i % size};
  }
  __device__ Item piece_of(int set, int i) const {
    const int group = set * groups + i / pieces;
    return {group, group < each ? -2 - i % pieces : -1};
  }
  // How many of the group's tiles add to dq of a tile of queries before this item's tile.
  struct Turns {
    int base, until;

    // `last`: the last tile of keys that the queries see, as if keys existed that far.
    __device__ int of(int last) const { return base + min(until, last); }
  };
  __device__ Turns turns(int tile) const {
    const int first = tile / run * run;
    return {first - tile, min(first + run, tiles) - 1};
  }
};

// The order of an item's tiles of queries. With one head it starts at the diagonal. Then blocks of neighbouring keys
// that start together never need the same turn. With several heads the last tile of each head comes first. Then such
// blocks process the same queries, one turn apart, and find them and dq's sums in the second-level cache. The wait at
// an item's start matters less there, because the item has several times the tiles.
template <bool kPlain>
struct Walk {
  const AttentionSizes& z;
  AttentionTile queries{};
  int tile, head, left, by;

  // Over tiles first.. of `tiles`.
  __device__ Walk(const AttentionSizes& sizes, int first, int tiles)
      : z(sizes), tile(z.r == 1 ? first : tiles - 1), head(0), left((tiles - first) * z.r), by(z.r == 1 ? 1 : -1) {
    find();
  }
  __device__ void next() {
    --left;
    if (++head == z.r) head = 0, tile += by, find();
  }
  __device__ void find() {
    if (kPlain || left > 0) queries = query_tile<kPlain>(z, tile);
  }
};

void launch_sums(const AttentionSizes& z, const AttentionGradBuffers& x, const HopperGradMaps& maps,
                 const Scratch& scratch, cudaStream_t stream);

// This thread's elements in its warpgroup's 64 rows of sums: rows row and row + 8, columns 8j + column and the next.
struct Lane {
  int row, column;
};
__device__ inline Lane lane() {
  return {int(threadIdx.x) % 128 / 32 * 16 + int(threadIdx.x) % 32 / 4, int(threadIdx.x) % 4 * 2};
}

// Transposes 4 x 4 words of 4 neighbouring lanes: lane i's word k becomes lane k's word i.
__device__ inline void transpose_in_quad(unsigned (&w)[4]) {
  const bool odd = threadIdx.x & 1, high = threadIdx.x & 2;
#pragma unroll
  for (int i = 0; i < 4; i += 2) {
    const unsigned got = __shfl_xor_sync(0xffffffffu, odd ? w[i] : w[i + 1], 1);
    (odd ? w[i] : w[i + 1]) = got;
  }
#pragma unroll
  for (int i = 0; i < 2; ++i) {
    const unsigned got = __shfl_xor_sync(0xffffffffu, high ? w[i] : w[i + 2], 2);
    (high ? w[i] : w[i + 2]) = got;
  }
}

// Stores of 16 and 8 bytes. The compiler would split them into words if it cannot see that they are aligned.
__device__ inline void store(void* to, const unsigned (&w)[4]) {
  asm volatile("st.global.v4.b32 [%0], {%1, %2, %3, %4};" ::"l"(__cvta_generic_to_global(to)), "r"(w[0]), "r"(w[1]),
               "r"(w[2]), "r"(w[3])
               : "memory");
}
__device__ inline void store(void* to, float a, float b) {
  asm volatile("st.global.v2.f32 [%0], {%1, %2};" ::"l"(__cvta_generic_to_global(to)), "f"(a), "f"(b) : "memory");
}

// Stores a warpgroup's 64 rows of D sums, times `scale`, as bf16 at `to`. Rows are `stride` elements apart, and only
// the first `rows` exist.
template <int D>
__device__ inline void store_sums(__nv_bfloat16* to, i64 stride, int rows, const float (&c)[D / 2], float scale) {
  const Lane at = lane();
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    const int row = at.row + 8 * half;
#pragma unroll
    for (int j = 0; j < D / 8; j += 4) {
      unsigned w[4];
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        const int n = 4 * (j + i) + 2 * half;
        const __nv_bfloat162 pair = __floats2bfloat162_rn(c[n] * scale, c[n + 1] * scale);
        w[i] = *reinterpret_cast<const unsigned*>(&pair);
      }
      transpose_in_quad(w);
      if (row < rows) store(to + row * stride + 8 * j + 4 * at.column, w);
    }
  }
}

// The same as f32: two neighbouring columns of a row are 8 bytes; those of four lanes fill a sector.
template <int D>
__device__ inline void store_sums(float* to, i64 stride, int rows, const float (&c)[D / 2], float scale) {
  const Lane at = lane();
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    const int row = at.row + 8 * half;
    if (row >= rows) continue;
#pragma unroll
    for (int j = 0; j < D / 8; ++j) {
      const int n = 4 * j + 2 * half;
      store(to + row * stride + 8 * j + at.column, c[n] * scale, c[n + 1] * scale);
    }
  }
}

}  // namespace megalith::cuda::hopper
