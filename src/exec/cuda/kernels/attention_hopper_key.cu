// dk and dv of 128 keys of a group: the block walks the queries from its first key's on, of each of the group's heads.
// Scores are transposed, a row per key, so that what is summed stays in registers.
#include "exec/cuda/kernels/attention_hopper.cuh"

namespace megalith::cuda::hopper {

namespace {

constexpr int kStages = 4;
constexpr int kWalked = 64;  // queries of a stage

template <int D>
struct Shared {
  __nv_bfloat16 k[kTile * D], v[kTile * D];
  __nv_bfloat16 q[kStages][kWalked * D], dout[kStages][kWalked * D];
  float lse[kStages][kWalked], mean[kStages][kWalked];
  u64 keys, full[kStages], free[kStages];
};

template <int D>
struct KeyGrad {
  static constexpr int kBytes = kWalked * D * 2;  // of a stage's q
  const AttentionSizes& z;
  const AttentionGradBuffers& x;
  const HopperGradMaps& maps;
  const QueryStats& stats;
  Shared<D>& at;
  int b, group, first;  // key

  // Query tiles of a head that see any of the keys.
  __device__ int from() const { return first / kWalked; }
  __device__ int to() const { return (z.s + kWalked - 1) / kWalked; }

  __device__ void load() const {
    const int heads = z.g * z.r, column = (b * z.key_heads + group) * D;
    announce(&at.keys, 2 * kTile * D * 2);
    load_tile<D, kTile>(at.k, maps.k, column, first, &at.keys);
    load_tile<D, kTile>(at.v, maps.v, column, first, &at.keys);
    Turn<kStages> turn;
    for (int head = group * z.r; head < (group + 1) * z.r; ++head)
      for (int i = from(); i < to(); ++i, turn.next()) {
        u64* full = &at.full[turn.stage];
        const i64 row = i64(b * heads + head) * stats.padded + i * kWalked;
        wait(&at.free[turn.stage], turn.parity ^ 1);
        announce(full, 2 * kBytes + 2 * kWalked * 4);
        load_tile<D, kWalked>(at.q[turn.stage], maps.q, (b * z.query_heads + head) * D, i * kWalked, full);
        load_bytes(at.lse[turn.stage], stats.lse + row, kWalked * 4, full);
        load_tile<D, kWalked>(at.dout[turn.stage], maps.dout, (b * heads + head) * D, i * kWalked, full);
        load_bytes(at.mean[turn.stage], stats.d + row, kWalked * 4, full);
      }
  }

  __device__ static u64 tile_factor(const __nv_bfloat16* tile) { return factor(shared_address(tile), kWalked * 128); }

  // Hides keys behind their query; `ahead`: this thread's first key, seen from the tile's first query.
  __device__ static void hide(float (&s)[kWalked / 2], int ahead) {
#pragma unroll
    for (int j = 0; j < kWalked / 8; ++j)
#pragma unroll
      for (int e = 0; e < 4; ++e)
        if (ahead + e / 2 * 8 > 8 * j + lane().column + e % 2) s[4 * j + e] = -INFINITY;
  }

  __device__ static void probabilities(float (&s)[kWalked / 2], float scale, const float* lse) {
#pragma unroll
    for (int j = 0; j < kWalked / 8; ++j) {
      const float2 x = *reinterpret_cast<const float2*>(lse + 8 * j + lane().column);
#pragma unroll
      for (int e = 0; e < 4; ++e) s[4 * j + e] = exp2_fast(s[4 * j + e] * scale - (e % 2 ? x.y : x.x));
    }
  }
  __device__ static void dscores(float (&d)[kWalked / 2], const float (&p)[kWalked / 2], const float* mean) {
#pragma unroll
    for (int j = 0; j < kWalked / 8; ++j) {
      const float2 x = *reinterpret_cast<const float2*>(mean + 8 * j + lane().column);
#pragma unroll
      for (int e = 0; e < 4; ++e) d[4 * j + e] = p[4 * j + e] * (d[4 * j + e] - (e % 2 ? x.y : x.x));
    }
  }

  __device__ void multiply(int mine) const {
    const int start = first + mine * 64;  // the warpgroup's first key
    const float scale = z.scale * kLog2E;
    const u64 k = tile_factor(at.k + mine * 64 * 64), v = tile_factor(at.v + mine * 64 * 64);
    float dk[D / 2] = {}, dv[D / 2] = {}, s[kWalked / 2], d[kWalked / 2];
    unsigned p[kWalked / 16][4], ds[kWalked / 16][4];
    pin(dk), pin(dv);
    wait(&at.keys, 0);
    wait(&at.full[0], 0);
    begin_products();
    product_of_rows<D, kTile, kWalked>(s, k, tile_factor(at.q[0]));
    commit_products();
    Turn<kStages> turn, before;
    int left = z.r * (to() - from()), query = from() * kWalked;
    for (bool again = false;; again = true) {
      const u64 q = tile_factor(at.q[turn.stage]), dout = tile_factor(at.dout[turn.stage]);
      wait_for_products<1>();  // the sums of the queries before; this tile's scores may still be under way
      pin(dk), pin(dv), pin(p), pin(ds);
      if (again) release(&at.free[before.stage]);
      begin_products();
      product_of_rows<D, kTile, kWalked>(d, v, dout);
      commit_products();
      wait_for_products<1>();
      pin(s);
      if (start + 63 > query) hide(s, start + lane().row - query);
      probabilities(s, scale, at.lse[turn.stage]);
      to_factor<kWalked>(p, s);
      pin(p), pin(dv);
      begin_products();
      add_product(dv, p, dout);
      commit_products();
      wait_for_products<1>();
      pin(d);
      dscores(d, s, at.mean[turn.stage]);
      to_factor<kWalked>(ds, d);
      pin(ds), pin(dk);
      begin_products();
      add_product(dk, ds, q);
      commit_products();
      if (--left == 0) break;
      query = query + kWalked < z.s ? query + kWalked : from() * kWalked;
      before = turn;
      turn.next();
      wait(&at.full[turn.stage], turn.parity);
      pin(s);
      begin_products();
      product_of_rows<D, kTile, kWalked>(s, k, tile_factor(at.q[turn.stage]));
      commit_products();
    }
    wait_for_products<0>();
    pin(dk), pin(dv);
    const i64 stride = i64(z.b) * z.key_heads * D, place = start * stride + (b * z.key_heads + group) * D;
    store_sums<D>(static_cast<__nv_bfloat16*>(x.dk) + place, stride, z.s - start, dk, z.scale);
    store_sums<D>(static_cast<__nv_bfloat16*>(x.dv) + place, stride, z.s - start, dv, 1);
  }
};

template <int D>
__global__ void __launch_bounds__(kThreads, 1)
    key_grad_kernel(const __grid_constant__ AttentionSizes z, const __grid_constant__ AttentionGradBuffers x,
                    const __grid_constant__ HopperGradMaps maps, const __grid_constant__ QueryStats stats) {
  extern __shared__ __align__(1024) unsigned char memory[];
  Shared<D>& at = *reinterpret_cast<Shared<D>*>(memory);
  if (threadIdx.x == 0) {
    make_barrier(&at.keys, 1);
    for (int i = 0; i < kStages; ++i) make_barrier(&at.full[i], 1), make_barrier(&at.free[i], kConsumers);
    publish_barriers();
  }
  __syncthreads();
  const KeyGrad<D> grad{z,
                        x,
                        maps,
                        stats,
                        at,
                        int(blockIdx.x) / z.g,
                        int(blockIdx.x) % z.g,
                        int(blockIdx.y) * kTile};  // the first have the most queries
  if (threadIdx.x < 128) {
    give_registers<kRegistersToLoad>();
    if (threadIdx.x == 0) grad.load();
  } else {
    take_registers<kRegistersToMultiply>();
    grad.multiply(int(threadIdx.x) / 128 - 1);
  }
}

template <int D>
void launch_sized(const AttentionSizes& z, const AttentionGradBuffers& x, const HopperGradMaps& maps,
                  const QueryStats& stats, cudaStream_t stream) {
  allow_shared(key_grad_kernel<D>, sizeof(Shared<D>));
  const dim3 blocks(unsigned(z.b * z.g), unsigned(stats.padded / kTile));
  key_grad_kernel<D><<<blocks, kThreads, sizeof(Shared<D>), stream>>>(z, x, maps, stats);
}

}  // namespace

void launch_key_grad(const AttentionSizes& z, const AttentionGradBuffers& x, const HopperGradMaps& maps,
                     const QueryStats& stats, cudaStream_t stream) {
  z.d == 64 ? launch_sized<64>(z, x, maps, stats, stream) : launch_sized<128>(z, x, maps, stats, stream);
  check_launch("[attention_grad] dk and dv");
}

}  // namespace megalith::cuda::hopper
