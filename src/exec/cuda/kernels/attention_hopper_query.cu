// dq of a tile of a head's queries: the block walks the keys up to its last query's.
#include "exec/cuda/kernels/attention_hopper.cuh"

namespace megalith::cuda::hopper {

namespace {

// Narrow heads leave registers for a third warpgroup, if it multiplies with half as many keys at a time.
template <int D>
using B = Block<D, D == 64 ? 3 : 2>;
template <int D>
constexpr int kWalked = D == 64 ? 64 : 128;  // keys of a stage
template <int D>
constexpr int kStages = D == 64 ? 6 : 2;  // of keys in shared memory

template <int D>
struct Shared {
  static constexpr int kTile = B<D>::kTile, kBuffers = B<D>::kBuffers;
  __nv_bfloat16 q[kBuffers][kTile * D], dout[kBuffers][kTile * D];
  __nv_bfloat16 k[kStages<D>][kWalked<D> * D], v[kStages<D>][kWalked<D> * D];
  u64 queries_full[kBuffers], queries_free[kBuffers];
  u64 k_full[kStages<D>], k_free[kStages<D>], v_full[kStages<D>], v_free[kStages<D>];
};

template <int D>
struct QueryGrad {
  static constexpr int kTile = B<D>::kTile, kBuffers = B<D>::kBuffers, kKeys = kWalked<D>;
  const AttentionSizes& z;
  const AttentionGradBuffers& x;
  const HopperGradMaps& maps;
  const QueryStats& stats;
  const Work& work;
  Shared<D>& at;

  struct Item {
    int b, head, first;  // query
    int walked;          // tiles of keys
  };
  __device__ Item item(int i) const {
    const int pair = i % work.each, heads = z.g * z.r, first = (work.tiles - 1 - i / work.each) * kTile;
    return {pair / heads, pair % heads, first, (min(first + kTile, z.s) + kKeys - 1) / kKeys};
  }

  __device__ void load() const {
    Turn<kStages<D>> turn;
    Turn<kBuffers> queries;
    for (int round = 0, i = work.item(0); i < work.count(); i = work.item(++round), queries.next()) {
      const Item it = item(i);
      u64* full = &at.queries_full[queries.stage];
      wait(&at.queries_free[queries.stage], queries.parity ^ 1);
      announce(full, 2 * kTile * D * 2);
      load_tile<D, kTile>(at.q[queries.stage], maps.q, (it.b * z.query_heads + it.head) * D, it.first, full);
      load_tile<D, kTile>(at.dout[queries.stage], maps.dout, (it.b * z.g * z.r + it.head) * D, it.first, full);
      const int column = (it.b * z.key_heads + it.head / z.r) * D;
      for (int tile = 0; tile < it.walked; ++tile, turn.next()) {
        load_keys(at.k[turn.stage], maps.k, column, tile, &at.k_free[turn.stage], &at.k_full[turn.stage], turn.parity);
        load_keys(at.v[turn.stage], maps.v, column, tile, &at.v_free[turn.stage], &at.v_full[turn.stage], turn.parity);
      }
    }
  }
  __device__ static void load_keys(__nv_bfloat16* to, const CUtensorMap& map, int column, int tile, u64* free,
                                   u64* full, int parity) {
    wait(free, parity ^ 1);
    announce(full, kKeys * D * 2);
    load_tile<D, kKeys>(to, map, column, tile * kKeys, full);
  }

  __device__ static u64 tile_factor(const __nv_bfloat16* tile) { return factor(shared_address(tile), kKeys * 128); }

  // Hides keys behind their query; `ahead`: this thread's first query, seen from the tile's first key.
  __device__ static void hide(float (&s)[kKeys / 2], int ahead) {
#pragma unroll
    for (int j = 0; j < kKeys / 8; ++j)
#pragma unroll
      for (int e = 0; e < 4; ++e)
        if (8 * j + lane().column + e % 2 > ahead + e / 2 * 8) s[4 * j + e] = -INFINITY;
  }

  // What a thread knows of its two queries.
  struct Queries {
    float lse[2], mean[2];
  };

  __device__ void multiply(int mine) const {
    Turn<kStages<D>> turn;
    Turn<kBuffers> queries;
    for (int round = 0, i = work.item(0); i < work.count(); i = work.item(++round), queries.next()) {
      const Item it = item(i);
      const int start = it.first + mine * 64;  // the warpgroup's first query
      const int own = start < z.s ? min(it.walked, (start + 63) / kKeys + 1) : 0;
      wait(&at.queries_full[queries.stage], queries.parity);
      if (own > 0) {
        const i64 row = (i64(it.b) * z.g * z.r + it.head) * stats.padded + start + lane().row;
        const Queries known{{stats.lse[row], stats.lse[row + 8]}, {stats.d[row], stats.d[row + 8]}};
        float dq[D / 2] = {};
        sum(turn, own, start, known, OwnRows<D, kTile>(at.q[queries.stage], mine * 64),
            OwnRows<D, kTile>(at.dout[queries.stage], mine * 64), dq);
        release(&at.queries_free[queries.stage]);
        const i64 stride = i64(z.b) * z.query_heads * D;
        store_sums<D>(static_cast<__nv_bfloat16*>(x.dq) + start * stride + (it.b * z.query_heads + it.head) * D, stride,
                      z.s - start, dq, z.scale);
      } else {
        release(&at.queries_free[queries.stage]);
      }
      for (int n = own; n < it.walked; ++n, turn.next()) let_go(turn);
    }
  }

  // Of keys that only other warpgroups' queries see.
  __device__ void let_go(const Turn<kStages<D>>& turn) const {
    wait(&at.k_full[turn.stage], turn.parity);
    release(&at.k_free[turn.stage]);
    wait(&at.v_full[turn.stage], turn.parity);
    release(&at.v_free[turn.stage]);
  }

  // Products overlap with the arithmetic between them: a tile's scores are begun before the sums of the tile before.
  __device__ void sum(Turn<kStages<D>>& turn, int tiles, int start, const Queries& known, const OwnRows<D, kTile>& q,
                      const OwnRows<D, kTile>& dout, float (&dq)[D / 2]) const {
    const float scale = z.scale * kLog2E;
    float s[kKeys / 2], d[kKeys / 2];
    unsigned ds[kKeys / 16][4];
    pin(dq);
    wait(&at.k_full[turn.stage], turn.parity);
    begin_products();
    q.template multiply<kKeys>(s, tile_factor(at.k[turn.stage]));
    commit_products();
    int before = -1;
    for (int keys = 0;;) {
      const int stage = turn.stage;
      const u64 k = tile_factor(at.k[stage]);
      wait(&at.v_full[stage], turn.parity);
      wait_for_products<1>();  // the sums of the keys before; this tile's scores may still be under way
      pin(dq), pin(ds);
      if (before >= 0) release(&at.k_free[before]);
      begin_products();
      dout.template multiply<kKeys>(d, tile_factor(at.v[stage]));
      commit_products();
      wait_for_products<1>();
      pin(s);
      if (keys + kKeys - 1 > start) hide(s, start + lane().row - keys);
#pragma unroll
      for (int n = 0; n < kKeys / 2; ++n) s[n] = exp2_fast(s[n] * scale - known.lse[n / 2 % 2]);
      wait_for_products<0>();
      pin(d);
      release(&at.v_free[stage]);
#pragma unroll
      for (int n = 0; n < kKeys / 2; ++n) d[n] = s[n] * (d[n] - known.mean[n / 2 % 2]);
      to_factor<kKeys>(ds, d);
      pin(ds), pin(dq);
      begin_products();
      add_product(dq, ds, k);
      commit_products();
      before = stage;
      turn.next();
      keys += kKeys;
      if (--tiles == 0) break;
      wait(&at.k_full[turn.stage], turn.parity);
      pin(s);
      begin_products();
      q.template multiply<kKeys>(s, tile_factor(at.k[turn.stage]));
      commit_products();
    }
    wait_for_products<0>();
    pin(dq);
    release(&at.k_free[before]);
  }
};

template <int D>
__global__ void __launch_bounds__(B<D>::kThreads, 1)
    query_grad_kernel(const __grid_constant__ AttentionSizes z, const __grid_constant__ AttentionGradBuffers x,
                      const __grid_constant__ HopperGradMaps maps, const __grid_constant__ QueryStats stats,
                      const __grid_constant__ Work work) {
  extern __shared__ __align__(1024) unsigned char memory[];
  Shared<D>& at = *reinterpret_cast<Shared<D>*>(memory);
  if (threadIdx.x == 0) {
    for (int i = 0; i < B<D>::kBuffers; ++i)
      make_barrier(&at.queries_full[i], 1), make_barrier(&at.queries_free[i], B<D>::kConsumers);
    for (int i = 0; i < kStages<D>; ++i) {
      make_barrier(&at.k_full[i], 1), make_barrier(&at.v_full[i], 1);
      make_barrier(&at.k_free[i], B<D>::kConsumers), make_barrier(&at.v_free[i], B<D>::kConsumers);
    }
    publish_barriers();
  }
  __syncthreads();
  const QueryGrad<D> grad{z, x, maps, stats, work, at};
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
  const Work work = share(blocks_for(z.s, B<D>::kTile), i64(z.b) * z.g * z.r);
  allow_shared(query_grad_kernel<D>, sizeof(Shared<D>));
  query_grad_kernel<D><<<work.blocks, B<D>::kThreads, sizeof(Shared<D>), stream>>>(z, x, maps, stats, work);
}

}  // namespace

void launch_query_grad(const AttentionSizes& z, const AttentionGradBuffers& x, const HopperGradMaps& maps,
                       const QueryStats& stats, cudaStream_t stream) {
  z.d == 64 ? launch_sized<64>(z, x, maps, stats, stream) : launch_sized<128>(z, x, maps, stats, stream);
  check_launch("[attention_grad] dq");
}

}  // namespace megalith::cuda::hopper
