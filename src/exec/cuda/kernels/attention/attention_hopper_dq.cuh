// Converts the sums of dq. The warpgroups of attention_hopper_sums.cuh do it between their tiles of keys.
#pragma once
#include "exec/cuda/kernels/attention/attention_hopper_shared.cuh"

namespace megalith::cuda::hopper {

// An item's piece of dq, box by box, after all their turns are over. `mine`: the warpgroup.
template <int D, class Out, bool kPlain>
struct MakeDq {
  static constexpr int kBoxes = D / 64;
  const AttentionSizes& z;
  const AttentionGradBuffers& x;
  const Scratch& scratch;
  const Work& work;

  __device__ void operator()(const Work::Item& it, int mine) const {
    const int boxes = z.r * scratch.tiles * kBoxes, begin = it.piece() * kPieceBoxes;
    const int count = min(kPieceBoxes, boxes - begin), first = it.group * boxes + begin;
    const int tile = (first + min(int(threadIdx.x) % 32, count - 1)) / kBoxes;  // the tile that this lane waits for
    const int last = last_key_tile<kPlain>(query_tile<kPlain>(z, tile % scratch.tiles));
    const int turns = min(last, work.tiles - 1) + 1;
    while (!__all_sync(0xffffffffu, seen(scratch.turns + tile) == turns)) {
    }
    __syncwarp();  // each lane has waited only for its own tile
#pragma unroll 1
    for (int n = mine; n < count; n += 2 * kGroups) {  // two at a time, because loads take long
      const bool two = n + kGroups < count;
      float a[32], b[32];
      load_sums(a, first + n);
      if (two) load_sums(b, first + n + kGroups);
      store_dq(a, first + n);
      if (two) store_dq(b, first + n + kGroups);
    }
  }
  __device__ void load_sums(float (&c)[32], int box) const {
    const float4* from = reinterpret_cast<const float4*>(scratch.dq + i64(box) * kBoxFloats) + threadIdx.x % 128;
#pragma unroll
    for (int j = 0; j < 8; ++j) *reinterpret_cast<float4*>(&c[4 * j]) = __ldcg(from + j * 128);
  }
  __device__ void store_dq(const float (&c)[32], int box) const {
    const int tile = box / kBoxes, head = tile / scratch.tiles, heads = z.g * z.r;
    const i64 stride = i64(z.b) * z.query_heads * D;
    const i64 place = i64(head / heads * z.query_heads + head % heads) * D + box % kBoxes * 64;
    const AttentionTile queries = query_tile<kPlain>(z, tile % scratch.tiles);
    store_sums<64>(static_cast<Out*>(x.dq) + queries.local * stride + place, stride, queries.count, c, z.scale);
  }
};

}  // namespace megalith::cuda::hopper
