// dk and dv of a tile of a group's keys: the block walks the queries from its first key's on, of each of the group's
// heads. Scores are transposed, a row per key, so that what is summed stays in registers.
#include "exec/cuda/kernels/attention_hopper.cuh"

namespace megalith::cuda::hopper {

namespace {

template <int D>
constexpr int kStages = D == 64 ? 6 : 4;  // of queries in shared memory
constexpr int kWalked = 64;               // queries of a stage

template <int D>
using B = Block<D, 2>;

template <int D>
struct Shared {
  static constexpr int kTile = B<D>::kTile, kBuffers = B<D>::kBuffers;
  __nv_bfloat16 k[kBuffers][kTile * D], v[kBuffers][kTile * D];
  __nv_bfloat16 q[kStages<D>][kWalked * D], dout[kStages<D>][kWalked * D];
  float lse[kStages<D>][kWalked], mean[kStages<D>][kWalked];
  u64 keys_full[kBuffers], keys_free[kBuffers], full[kStages<D>], free[kStages<D>];
};

template <int D>
struct KeyGrad {
  static constexpr int kTile = B<D>::kTile, kBuffers = B<D>::kBuffers;
  const AttentionSizes& z;
  const AttentionGradBuffers& x;
  const HopperGradMaps& maps;
  const QueryStats& stats;
  const Work& work;
  Shared<D>& at;

  struct Item {
    int b, group, first;  // key
    int from, to;         // tiles of queries, of each head, that see any of the keys
  };
  __device__ Item item(int i) const {
    const int pair = i % work.each, first = i / work.each * kTile;
    return {pair / z.g, pair % z.g, first, first / kWalked, (z.s + kWalked - 1) / kWalked};
  }

  __device__ void load() const {
    Turn<kStages<D>> turn;
    Turn<kBuffers> keys;
    for (int round = 0, i = work.item(0); i < work.count(); i = work.item(++round), keys.next()) {
      const Item it = item(i);
      u64* full = &at.keys_full[keys.stage];
      const int column = (it.b * z.key_heads + it.group) * D;
      wait(&at.keys_free[keys.stage], keys.parity ^ 1);
      announce(full, 2 * kTile * D * 2);
      load_tile<D, kTile>(at.k[keys.stage], maps.k, column, it.first, full);
      load_tile<D, kTile>(at.v[keys.stage], maps.v, column, it.first, full);
      for (int head = it.group * z.r; head < (it.group + 1) * z.r; ++head)
        for (int tile = it.from; tile < it.to; ++tile, turn.next()) load_queries(it.b, head, tile, turn);
    }
  }
  __device__ void load_queries(int b, int head, int tile, const Turn<kStages<D>>& turn) const {
    const int heads = z.g * z.r;
    const i64 row = i64(b * heads + head) * stats.padded + tile * kWalked;
    u64* full = &at.full[turn.stage];
    wait(&at.free[turn.stage], turn.parity ^ 1);
    announce(full, 2 * kWalked * D * 2 + 2 * kWalked * 4);
    load_tile<D, kWalked>(at.q[turn.stage], maps.q, (b * z.query_heads + head) * D, tile * kWalked, full);
    load_bytes(at.lse[turn.stage], stats.lse + row, kWalked * 4, full);
    load_tile<D, kWalked>(at.dout[turn.stage], maps.dout, (b * heads + head) * D, tile * kWalked, full);
    load_bytes(at.mean[turn.stage], stats.d + row, kWalked * 4, full);
  }

  // The stages of an item as a warpgroup sees them: those before its own first tile of queries it only lets go.
  struct Walk {
    Shared<D>& at;
    Turn<kStages<D>>& turn;
    int from, own, to, heads, tile;
    __device__ bool find() {
      for (;;) {
        if (tile == to) {
          if (--heads == 0) return false;
          tile = from;
        }
        if (tile >= own) return true;
        wait(&at.full[turn.stage], turn.parity);
        release(&at.free[turn.stage]);
        step();
      }
    }
    __device__ void step() { ++tile, turn.next(); }
  };

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
    Turn<kStages<D>> turn;
    Turn<kBuffers> keys;
    for (int round = 0, i = work.item(0); i < work.count(); i = work.item(++round), keys.next()) {
      const Item it = item(i);
      const int start = it.first + mine * 64;  // the warpgroup's first key
      Walk walk{at, turn, it.from, it.from + mine, it.to, z.r, it.from};
      wait(&at.keys_full[keys.stage], keys.parity);
      if (!walk.find()) {
        release(&at.keys_free[keys.stage]);
        continue;
      }
      float dk[D / 2] = {}, dv[D / 2] = {};
      sum(walk, start, OwnRows<D, kTile>(at.k[keys.stage], mine * 64), OwnRows<D, kTile>(at.v[keys.stage], mine * 64),
          dk, dv);
      release(&at.keys_free[keys.stage]);
      const i64 stride = i64(z.b) * z.key_heads * D, place = start * stride + (it.b * z.key_heads + it.group) * D;
      store_sums<D>(static_cast<__nv_bfloat16*>(x.dk) + place, stride, z.s - start, dk, z.scale);
      store_sums<D>(static_cast<__nv_bfloat16*>(x.dv) + place, stride, z.s - start, dv, 1);
    }
  }

  // Products overlap with the arithmetic between them: a tile's scores are begun before the sums of the tile before.
  __device__ void sum(Walk& walk, int start, const OwnRows<D, kTile>& k, const OwnRows<D, kTile>& v, float (&dk)[D / 2],
                      float (&dv)[D / 2]) const {
    const float scale = z.scale * kLog2E;
    const Turn<kStages<D>>& turn = walk.turn;
    float s[kWalked / 2], d[kWalked / 2];
    unsigned p[kWalked / 16][4], ds[kWalked / 16][4];
    pin(dk), pin(dv);
    wait(&at.full[turn.stage], turn.parity);
    begin_products();
    k.template multiply<kWalked>(s, tile_factor(at.q[turn.stage]));
    commit_products();
    int before = -1;
    for (;;) {
      const int stage = turn.stage, query = walk.tile * kWalked;
      const u64 q = tile_factor(at.q[stage]), dout = tile_factor(at.dout[stage]);
      wait_for_products<1>();  // the sums of the queries before; this tile's scores may still be under way
      pin(dk), pin(dv), pin(p), pin(ds);
      if (before >= 0) release(&at.free[before]);
      begin_products();
      v.template multiply<kWalked>(d, dout);
      commit_products();
      wait_for_products<1>();
      pin(s);
      if (start + 63 > query) hide(s, start + lane().row - query);
      probabilities(s, scale, at.lse[stage]);
      to_factor<kWalked>(p, s);
      pin(p), pin(dv);
      begin_products();
      add_product(dv, p, dout);
      commit_products();
      wait_for_products<1>();
      pin(d);
      dscores(d, s, at.mean[stage]);
      to_factor<kWalked>(ds, d);
      pin(ds), pin(dk);
      begin_products();
      add_product(dk, ds, q);
      commit_products();
      before = stage;
      walk.step();
      if (!walk.find()) break;
      wait(&at.full[turn.stage], turn.parity);
      pin(s);
      begin_products();
      k.template multiply<kWalked>(s, tile_factor(at.q[turn.stage]));
      commit_products();
    }
    wait_for_products<0>();
    pin(dk), pin(dv);
    release(&at.free[before]);
  }
};

template <int D>
__global__ void __launch_bounds__(B<D>::kThreads, 1)
    key_grad_kernel(const __grid_constant__ AttentionSizes z, const __grid_constant__ AttentionGradBuffers x,
                    const __grid_constant__ HopperGradMaps maps, const __grid_constant__ QueryStats stats,
                    const __grid_constant__ Work work) {
  extern __shared__ __align__(1024) unsigned char memory[];
  Shared<D>& at = *reinterpret_cast<Shared<D>*>(memory);
  if (threadIdx.x == 0) {
    for (int i = 0; i < B<D>::kBuffers; ++i)
      make_barrier(&at.keys_full[i], 1), make_barrier(&at.keys_free[i], B<D>::kConsumers);
    for (int i = 0; i < kStages<D>; ++i) make_barrier(&at.full[i], 1), make_barrier(&at.free[i], B<D>::kConsumers);
    publish_barriers();
  }
  __syncthreads();
  const KeyGrad<D> grad{z, x, maps, stats, work, at};
  if (threadIdx.x < 128) {
    give_registers<B<D>::kRegistersToLoad>();
    if (threadIdx.x == 0) grad.load();
  } else {
    take_registers<B<D>::kRegistersToMultiply>();
    grad.multiply(warpgroup() - 1);
  }
}

template <int D>
void launch_sized(const AttentionSizes& z, const AttentionGradBuffers& x, const HopperGradMaps& maps,
                  const QueryStats& stats, cudaStream_t stream) {
  const Work work = share(blocks_for(z.s, B<D>::kTile), i64(z.b) * z.g);
  allow_shared(key_grad_kernel<D>, sizeof(Shared<D>));
  key_grad_kernel<D><<<work.blocks, B<D>::kThreads, sizeof(Shared<D>), stream>>>(z, x, maps, stats, work);
}

}  // namespace

void launch_key_grad(const AttentionSizes& z, const AttentionGradBuffers& x, const HopperGradMaps& maps,
                     const QueryStats& stats, cudaStream_t stream) {
  z.d == 64 ? launch_sized<64>(z, x, maps, stats, stream) : launch_sized<128>(z, x, maps, stats, stream);
  check_launch("[attention_grad] dk and dv");
}

}  // namespace megalith::cuda::hopper
