// The transpose of codes by tiles, and the scales of members of buckets.
#include "exec/cuda/kernels/quantize/member_scales.h"
#include "exec/cuda/kernels/quantize/tile.cuh"

namespace megalith::cuda {
namespace {

constexpr int kMost = 96;  // members of a launch

struct MemberList {
  int n;
  MemberPointers at[kMost];
};

__global__ void member_scales_kernel(ScaleRuleOfBox rule, const __grid_constant__ MemberList list) {
  const int i = threadIdx.x;
  if (i >= list.n) return;
  const MemberPointers& m = list.at[i];
  const float amax = *m.seen;
  *m.scale_inv = scale_of(rule, amax, amax, m.state ? *m.state : 0).scale_inv;
  if (m.amax) *m.amax = amax;
}

// Rows are multiples of 16, columns of 8.
__global__ void __launch_bounds__(TilePlace::kThreads) turn_tile_kernel(TurnLaunch l, const u8* codes, u8* out) {
  __shared__ __align__(16) u32 turned[TilePlace::kTile * 32];
  const TilePlace t(blockIdx.x, l.rows, l.columns);
  codes += blockIdx.y * l.rows * l.columns, out += blockIdx.y * l.rows * l.columns;
  const u8* from = codes + (t.row + t.row_in_tile(0, 0)) * l.columns + t.column + t.column_in_tile();
#pragma unroll
  for (int k = 0; k < t.kParts; ++k) {
    u32 halves[2][t.kRows];
#pragma unroll
    for (int i = 0; i < t.kRows; ++i) {
      uint2 v{};
      if (t.has(k, i))
        v = __ldg(reinterpret_cast<const uint2*>(from + i64(t.row_in_tile_from_first(k, i)) * l.columns));
      halves[0][i] = v.x, halves[1][i] = v.y;
    }
#pragma unroll
    for (int h = 0; h < 2; ++h) {
      turn_bytes(halves[h]);
#pragma unroll
      for (int e = 0; e < 4; ++e)
        turned[(t.column_in_tile() + 4 * h + e) * 32 + ((k * 16 + t.group) ^ (2 * t.lane))] = halves[h][e];
    }
  }
  __syncthreads();
  store_turned(t, {nullptr, out, l.columns, l.rows}, turned);
}

__global__ void turn_single_kernel(TurnLaunch l, const u8* codes, u8* out) {
  const i64 i = i64(blockIdx.x) * TilePlace::kThreads + threadIdx.x;
  codes += blockIdx.y * l.rows * l.columns, out += blockIdx.y * l.rows * l.columns;
  if (i < l.rows * l.columns) out[i % l.columns * l.rows + i / l.columns] = codes[i];
}

}  // namespace

void launch_member_scales(const ScaleRuleOfBox& rule, std::span<const MemberPointers> members, cudaStream_t stream) {
  for (size_t done = 0; done < members.size(); done += kMost) {
    MemberList list{};
    for (const MemberPointers& m : members.subspan(done, std::min<size_t>(kMost, members.size() - done)))
      list.at[list.n++] = m;
    member_scales_kernel<<<1, kMost, 0, stream>>>(rule, list);
  }
  check_launch("[cast_shard] launch of scales");
}

void launch(const TurnLaunch& l, const u8* codes, u8* turned, cudaStream_t stream) {
  if (l.layers * l.rows * l.columns == 0) return;
  const unsigned layers(l.layers);
  if (l.rows % 16 == 0 && l.columns % 8 == 0)
    turn_tile_kernel<<<dim3(unsigned(tiles_of(l.rows, l.columns)), layers), TilePlace::kThreads, 0, stream>>>(l, codes,
                                                                                                              turned);
  else
    turn_single_kernel<<<dim3(blocks_for(l.rows * l.columns, TilePlace::kThreads), layers), TilePlace::kThreads, 0,
                         stream>>>(l, codes, turned);
  check_launch("[turn_codes] launch");
}

}  // namespace megalith::cuda
