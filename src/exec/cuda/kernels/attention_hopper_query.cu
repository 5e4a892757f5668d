// dq of 128 queries of a head: the block walks the keys up to its last query's.
#include "exec/cuda/kernels/attention_hopper.cuh"

namespace megalith::cuda::hopper {

namespace {

constexpr int kStages = 2;

template <int D>
struct Shared {
  __nv_bfloat16 q[kTile * D], dout[kTile * D];
  __nv_bfloat16 k[kStages][kTile * D], v[kStages][kTile * D];
  u64 queries, k_full[kStages], k_free[kStages], v_full[kStages], v_free[kStages];
};

template <int D>
struct QueryGrad {
  static constexpr int kBytes = kTile * D * 2;  // of a tile
  const AttentionSizes& z;
  const AttentionGradBuffers& x;
  const HopperGradMaps& maps;
  const QueryStats& stats;
  Shared<D>& at;
  int b, head, tile;

  __device__ void load() const {
    const int first = tile * kTile, heads = z.g * z.r;
    announce(&at.queries, 2 * kBytes);
    load_tile<D, kTile>(at.q, maps.q, (b * z.query_heads + head) * D, first, &at.queries);
    load_tile<D, kTile>(at.dout, maps.dout, (b * heads + head) * D, first, &at.queries);
    const int column = (b * z.key_heads + head / z.r) * D;
    Turn<kStages> turn;
    for (int i = 0; i <= tile; ++i, turn.next()) {
      wait(&at.k_free[turn.stage], turn.parity ^ 1);
      announce(&at.k_full[turn.stage], kBytes);
      load_tile<D, kTile>(at.k[turn.stage], maps.k, column, i * kTile, &at.k_full[turn.stage]);
      wait(&at.v_free[turn.stage], turn.parity ^ 1);
      announce(&at.v_full[turn.stage], kBytes);
      load_tile<D, kTile>(at.v[turn.stage], maps.v, column, i * kTile, &at.v_full[turn.stage]);
    }
  }

  __device__ static u64 tile_factor(const __nv_bfloat16* tile) { return factor(shared_address(tile), kTile * 128); }

  // Hides keys behind their query on the diagonal.
  __device__ static void hide(float (&s)[kTile / 2], int row) {
#pragma unroll
    for (int j = 0; j < kTile / 8; ++j)
#pragma unroll
      for (int e = 0; e < 4; ++e)
        if (8 * j + lane().column + e % 2 > row + e / 2 * 8) s[4 * j + e] = -INFINITY;
  }

  __device__ void multiply(int group) const {
    const int row = group * 64 + lane().row, first = tile * kTile;
    const i64 mine = (i64(b) * z.g * z.r + head) * stats.padded + first + row;
    const float lse[2] = {stats.lse[mine], stats.lse[mine + 8]}, mean[2] = {stats.d[mine], stats.d[mine + 8]};
    const float scale = z.scale * kLog2E;
    const u64 q = tile_factor(at.q + group * 64 * 64), dout = tile_factor(at.dout + group * 64 * 64);
    float dq[D / 2] = {}, s[kTile / 2], d[kTile / 2];
    unsigned ds[kTile / 16][4];
    pin(dq);
    wait(&at.queries, 0);
    wait(&at.k_full[0], 0);
    begin_products();
    product_of_rows<D, kTile, kTile>(s, q, tile_factor(at.k[0]));
    commit_products();
    Turn<kStages> turn, before;
    for (int i = 0;; ++i) {
      const u64 k = tile_factor(at.k[turn.stage]);
      wait(&at.v_full[turn.stage], turn.parity);
      wait_for_products<1>();  // dq's of the keys before; this tile's scores may still be under way
      pin(dq), pin(ds);
      if (i > 0) release(&at.k_free[before.stage]);
      begin_products();
      product_of_rows<D, kTile, kTile>(d, dout, tile_factor(at.v[turn.stage]));
      commit_products();
      wait_for_products<1>();
      pin(s);
      if (i == tile) hide(s, row);
#pragma unroll
      for (int n = 0; n < kTile / 2; ++n) s[n] = exp2_fast(s[n] * scale - lse[n / 2 % 2]);
      wait_for_products<0>();
      pin(d);
      release(&at.v_free[turn.stage]);
#pragma unroll
      for (int n = 0; n < kTile / 2; ++n) d[n] = s[n] * (d[n] - mean[n / 2 % 2]);
      to_factor<kTile>(ds, d);
      pin(ds), pin(dq);
      begin_products();
      add_product(dq, ds, k);
      commit_products();
      if (i == tile) break;
      before = turn;
      turn.next();
      wait(&at.k_full[turn.stage], turn.parity);
      pin(s);
      begin_products();
      product_of_rows<D, kTile, kTile>(s, q, tile_factor(at.k[turn.stage]));
      commit_products();
    }
    wait_for_products<0>();
    pin(dq);
    const i64 stride = i64(z.b) * z.query_heads * D;
    store_sums<D>(static_cast<__nv_bfloat16*>(x.dq) + (first + group * 64) * stride + (b * z.query_heads + head) * D,
                  stride, z.s - first - group * 64, dq, z.scale);
  }
};

template <int D>
__global__ void __launch_bounds__(kThreads, 1)
    query_grad_kernel(const __grid_constant__ AttentionSizes z, const __grid_constant__ AttentionGradBuffers x,
                      const __grid_constant__ HopperGradMaps maps, const __grid_constant__ QueryStats stats) {
  extern __shared__ __align__(1024) unsigned char memory[];
  Shared<D>& at = *reinterpret_cast<Shared<D>*>(memory);
  if (threadIdx.x == 0) {
    make_barrier(&at.queries, 1);
    for (int i = 0; i < kStages; ++i) {
      make_barrier(&at.k_full[i], 1), make_barrier(&at.v_full[i], 1);
      make_barrier(&at.k_free[i], kConsumers), make_barrier(&at.v_free[i], kConsumers);
    }
    publish_barriers();
  }
  __syncthreads();
  const int heads = z.g * z.r;
  const QueryGrad<D> grad{z,
                          x,
                          maps,
                          stats,
                          at,
                          int(blockIdx.x) / heads,
                          int(blockIdx.x) % heads,
                          int(gridDim.y - 1 - blockIdx.y)};  // the longest first
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
  allow_shared(query_grad_kernel<D>, sizeof(Shared<D>));
  const dim3 blocks(unsigned(z.b * z.g * z.r), unsigned(stats.padded / kTile));
  query_grad_kernel<D><<<blocks, kThreads, sizeof(Shared<D>), stream>>>(z, x, maps, stats);
}

}  // namespace

void launch_query_grad(const AttentionSizes& z, const AttentionGradBuffers& x, const HopperGradMaps& maps,
                       const QueryStats& stats, cudaStream_t stream) {
  z.d == 64 ? launch_sized<64>(z, x, maps, stats, stream) : launch_sized<128>(z, x, maps, stats, stream);
  check_launch("[attention_grad] dq");
}

}  // namespace megalith::cuda::hopper
